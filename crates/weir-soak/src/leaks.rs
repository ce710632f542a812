//! Resources held by this process: memory, file descriptors, children. Reads `/proc`; on other systems it finds
//! nothing.

use std::path::Path;

use weir_process::ProcessId;

/// Resources held by this process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Held {
    /// Bytes of memory.
    pub(crate) memory: u64,
    /// Open file descriptors.
    pub(crate) descriptors: usize,
    /// Child processes, including dead ones, without our guard process.
    pub(crate) children: Vec<String>,
}

/// The resources held now.
pub(crate) fn held() -> Held {
    let descriptors = std::fs::read_dir("/proc/self/fd").map_or(0, Iterator::count);
    Held {
        memory: ProcessId::current().resident_memory().unwrap_or_default(),
        descriptors,
        children: children(),
    }
}

/// Children of this process, dead or alive, as `PID (NAME) STATE`. The watcher stays while this process runs.
fn children() -> Vec<String> {
    let us = std::process::id().to_string();
    let watcher = weir_process::watcher_pid();
    let child = |folder: &Path| {
        let status = std::fs::read_to_string(folder.join("stat")).ok()?;
        // The name is in parentheses and may contain anything; state and parent are the fields after it.
        let (name, rest) = status.rsplit_once(')')?;
        let mut fields = rest.split_whitespace();
        let state = fields.next()?;
        (fields.next()? == us).then(|| format!("{name}) {state}"))
    };
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let processes = entries.filter(|entry| {
        let pid = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok());
        pid.is_some() && pid != watcher
    });
    processes.filter_map(|entry| child(&entry.path())).collect()
}

/// Whether the resources grow without bound: compares the last quarter of the samples with the second one.
pub(crate) fn grows(samples: &[Held]) -> Option<String> {
    let quarter = samples.len() / 4;
    if quarter == 0 {
        return None;
    }
    let median = |from: usize, value: &dyn Fn(&Held) -> u64| {
        let mut values: Vec<u64> = samples.iter().skip(from).take(quarter).map(value).collect();
        values.sort_unstable();
        values.get(values.len() / 2).copied().unwrap_or_default()
    };
    let descriptors = |held: &Held| u64::try_from(held.descriptors).unwrap_or(u64::MAX);
    let compare = |what: &str, value: &dyn Fn(&Held) -> u64, allowance: u64| {
        let (early, late) = (median(quarter, value), median(samples.len() - quarter, value));
        (late > early + early / 5 + allowance).then(|| format!("{what} grew from {early} to {late}"))
    };
    compare("memory", &|held| held.memory, 24 << 20).or_else(|| compare("file descriptors", &descriptors, 3))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(memory: u64, descriptors: usize) -> Held {
        Held { memory, descriptors, children: Vec::new() }
    }

    #[test]
    fn a_constant_level_is_not_growth() {
        let level: Vec<Held> = (0..40).map(|number| sample((50 << 20) + number % 7, 20)).collect();
        assert_eq!(grows(&level), None);
        let leaking: Vec<Held> = (0..40).map(|number| sample((50 + 4 * number) << 20, 20)).collect();
        assert!(grows(&leaking).is_some_and(|what| what.starts_with("memory")));
        let open: Vec<Held> = (0..40).map(|number| sample(1, 20 + number)).collect();
        assert!(grows(&open).is_some_and(|what| what.starts_with("file descriptors")));
    }
}
