//! Detects whether we run in a container.

use std::path::Path;

/// Looks for the marks of common container runtimes.
pub(super) fn is_container() -> bool {
    let marks = ["/.dockerenv", "/run/.containerenv"];
    let by_file = marks.iter().any(|mark| Path::new(mark).exists());
    let by_variable =
        ["container", "KUBERNETES_SERVICE_HOST"].iter().any(|name| std::env::var_os(name).is_some());
    let groups = std::fs::read_to_string("/proc/1/cgroup").unwrap_or_default();
    let by_group =
        ["docker", "kubepods", "containerd", "lxc", "podman"].iter().any(|word| groups.contains(word));
    by_file || by_variable || by_group
}
