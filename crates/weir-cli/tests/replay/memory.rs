//! However long a stream is, events and raw lines take the same memory.

#![cfg(target_os = "linux")]

use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::process::Stdio;

use crate::support::{INIT, SUCCESS, command};

const QUARTERS: usize = 4;
const BYTES_OF_A_QUARTER: usize = 4 << 20;
/// Maximum memory of the program, in kibibytes.
const MAX_MEMORY: u64 = 40 << 10;
/// Maximum growth of memory after the first quarter, in kibibytes.
const MAX_GROWTH: u64 = 2 << 10;

/// Rounds of one endless turn: calls, results, calls without a result, unknown lines, stray results and plain text.
fn rounds(first: usize, target: &mut String) {
    let output = "a line of output that no one will read\\n".repeat(60);
    for round in first..first + 20 {
        let call = format!(
            r#"{{"type":"assistant","message":{{"id":"msg_{round}","role":"assistant","content":[{{"type":"tool_use","id":"toolu_{round}","name":"Bash","input":{{"command":"step {round}"}}}}]}},"parent_tool_use_id":null,"session_id":"s-1"}}"#
        );
        let result = format!(
            r#"{{"type":"user","message":{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"toolu_{round}","content":"{output}"}}]}},"parent_tool_use_id":null,"session_id":"s-1"}}"#
        );
        let lost = format!(
            r#"{{"type":"assistant","message":{{"id":"msg_lost_{round}","role":"assistant","content":[{{"type":"tool_use","id":"toolu_lost_{round}","name":"Read","input":{{"file_path":"/workspace/demo/{round}"}}}}]}},"parent_tool_use_id":null,"session_id":"s-1"}}"#
        );
        let unknown = format!(r#"{{"type":"next_year","round":{round},"payload":"{output}"}}"#);
        let stray = format!(
            r#"{{"type":"user","message":{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"toolu_stray_{round}","content":"x"}}]}},"parent_tool_use_id":null,"session_id":"s-1"}}"#
        );
        for line in [&call, &result, &lost, &unknown, &stray] {
            let _ = writeln!(target, "{line}");
        }
        let _ = writeln!(target, "no JSON in round {round}");
    }
}

fn peak_kibibytes(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let digits = peak.map(|peak| peak.trim().trim_end_matches(" kB"));
    digits.and_then(|digits| digits.parse().ok()).unwrap_or(u64::MAX)
}

#[test]
fn one_endless_turn_takes_constant_memory() {
    for args in
        [&["-o", "events"][..], &["-o", "events", "--format", "classic"], &["-o", "json"], &["-o", "raw"]]
    {
        let mut command = command(args);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let mut stdout = child.stdout.take().unwrap();
        let drain = std::thread::spawn(move || io::copy(&mut stdout, &mut io::sink()));

        stdin.write_all(format!("{INIT}\n").as_bytes()).unwrap();
        let mut peaks = Vec::new();
        let mut round = 0;
        let mut lines = String::new();
        for _ in 0..QUARTERS {
            let mut written = 0;
            while written < BYTES_OF_A_QUARTER {
                lines.clear();
                rounds(round, &mut lines);
                round += 20;
                stdin.write_all(lines.as_bytes()).unwrap();
                written += lines.len();
            }
            // What is still in the pipe is less than one read.
            peaks.push(peak_kibibytes(child.id()));
        }
        stdin.write_all(format!("{SUCCESS}\n").as_bytes()).unwrap();
        drop(stdin);
        drain.join().unwrap().unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(0));
        let (first, last) = (peaks[0], peaks[QUARTERS - 1]);
        assert!(last < MAX_MEMORY, "{args:?}: {peaks:?} KiB");
        assert!(last <= first + MAX_GROWTH, "{args:?}: {peaks:?} KiB");
    }
}
