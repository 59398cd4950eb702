//! A machine as a folder: sysfs and procfs, or an emulated machine of pepc.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz::machine_folder(bytes));
