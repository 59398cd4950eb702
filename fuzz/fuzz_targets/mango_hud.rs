//! Frame logs of MangoHud.
#![no_main]

use import::formats::mango_hud::MangoHud;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz::file(&MangoHud, bytes));
