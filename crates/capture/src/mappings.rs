//! The memory mappings of a process: `/proc/PID/maps`.

/// A mapped part of a file or of named memory.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Mapping {
    /// The first address.
    pub from: u64,
    /// The address after the last one.
    pub to: u64,
    /// The offset in the file of the first address.
    pub offset: u64,
    /// The file's device, as `/proc/PID/maps` has it; 0: unknown.
    pub device: u32,
    /// The file's inode; 0: not a file.
    pub inode: u64,
    /// Path, or name in brackets; empty: none.
    pub name: String,
    /// GNU build id of the file, in hexadecimal, if the kernel said it when the file was mapped.
    pub id: Option<String>,
}

impl Mapping {
    /// The inode of a file whose build id is known instead.
    pub const UNKNOWN_INODE: u64 = u64::MAX;
}

/// Parses the executable mappings, in order of address.
pub fn of_text(maps: &str) -> Vec<Mapping> {
    maps.lines().filter_map(line).collect()
}

/// Reads the executable mappings of a process; `None` if it has ended or is not readable.
pub fn of_process(pid: i32) -> Option<Vec<Mapping>> {
    // File names need not be UTF-8.
    let bytes = std::fs::read(format!("/proc/{pid}/maps")).ok()?;
    Some(of_text(&String::from_utf8_lossy(&bytes))).filter(|all| !all.is_empty())
}

/// Parses a line such as `55d0c0a00000-55d0c0a21000 r-xp 00002000 fe:00 1234    /usr/bin/sleep` (proc_pid_maps(5)).
fn line(line: &str) -> Option<Mapping> {
    let mut words = line.splitn(6, ' ');
    let hexadecimal = |text: &str| u64::from_str_radix(text, 16).ok();
    let (from, to) = words.next()?.split_once('-')?;
    let rights = words.next()?;
    let offset = hexadecimal(words.next()?)?;
    let (major, minor) = words.next()?.split_once(':')?;
    let device = hexadecimal(major)? << 20 | hexadecimal(minor)?;
    let inode = words.next()?.parse().ok()?;
    let name = words.next().unwrap_or_default().trim_start().to_owned();
    rights.contains('x').then_some(Mapping {
        from: hexadecimal(from)?,
        to: hexadecimal(to)?,
        offset,
        device: device as u32,
        inode,
        name,
        id: None,
    })
}

/// Returns the mapping that contains an address.
pub fn at(mappings: &[Mapping], address: u64) -> Option<&Mapping> {
    let next = mappings.partition_point(|m| m.from <= address);
    mappings.get(next.checked_sub(1)?).filter(|m| address < m.to)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn parses_lines() {
        let text = "55d0c0a00000-55d0c0a02000 r--p 00000000 fe:00 1234                       /usr/bin/a b\n\
                    55d0c0a02000-55d0c0a06000 r-xp 00002000 fe:00 1234                       /usr/bin/a b\n\
                    7f0000000000-7f0000001000 rwxp 00000000 00:00 0 \n\
                    7ffd1c9f2000-7ffd1c9f4000 r-xp 00000000 00:00 0                          [vdso]\n\
                    ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  [vsyscall]\n\
                    nonsense\n\n1-2 x\n";
        let all = of_text(text);
        let names: Vec<&str> = all.iter().map(|m| m.name.as_str()).collect();
        assert_eq!(names, ["/usr/bin/a b", "", "[vdso]", "[vsyscall]"]);
        let found = at(&all, 0x55d0_c0a0_2010).unwrap();
        assert_eq!((found.offset, found.inode), (0x2000, 1234));
        assert!(at(&all, 0x55d0_c0a0_6000).is_none());
        assert!(at(&all, 0).is_none());
        assert_eq!(at(&all, 0x7f00_0000_0000).unwrap().inode, 0);
    }

    #[test]
    fn reads_its_own_mappings() {
        let address = of_process as *const () as u64;
        let all = of_process(std::process::id().cast_signed()).unwrap();
        assert_eq!(std::path::Path::new(&at(&all, address).unwrap().name), std::env::current_exe().unwrap());
        assert!(of_process(-1).is_none());
    }
}
