//! What the machine has to spare.

/// How many CLIs wait for new sessions unless a person says otherwise.
pub(crate) fn spares() -> usize {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let memory = std::fs::read_to_string("/proc/meminfo").ok().and_then(|text| memory(&text));
    number_of_spares(cores, memory)
}

/// One spare, or two on a large machine, and none where its memory or its start would be missed. A system that does not
/// tell its memory has none: only Linux has spares.
fn number_of_spares(cores: usize, memory: Option<u64>) -> usize {
    // A machine that is sold with 8 GB tells somewhat less.
    const SMALL: u64 = 7 << 30;
    const LARGE: u64 = 15 << 30;
    match memory {
        Some(bytes) if cores >= 4 && bytes >= LARGE => 2,
        Some(bytes) if cores >= 2 && bytes >= SMALL => 1,
        _ => 0,
    }
}

/// The machine's memory in bytes, from the text of `/proc/meminfo`.
fn memory(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kilobytes.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_machine_keeps_nothing_ready() {
        let gigabytes = |count: u64| Some(count << 30);
        assert_eq!(number_of_spares(2, gigabytes(4)), 0);
        assert_eq!(number_of_spares(1, gigabytes(64)), 0);
        assert_eq!(number_of_spares(8, None), 0);
        assert_eq!(number_of_spares(2, gigabytes(64)), 1);
        assert_eq!(number_of_spares(8, gigabytes(8)), 1);
        assert_eq!(number_of_spares(8, gigabytes(16)), 2);
    }

    #[test]
    fn the_memory_is_read_from_what_linux_tells() {
        assert_eq!(memory("MemTotal:       16316412 kB\nMemFree: 1 kB\n"), Some(16_316_412 * 1024));
        assert_eq!(memory("nothing"), None);
    }
}
