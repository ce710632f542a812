//! The measured streams, generated deterministically.

use std::fmt::Write as _;
use std::io::Write as _;
use std::str::FromStr;

use anyhow::bail;

/// The streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Workload {
    /// Short lines, each a piece of text.
    Deltas,
    /// Text, tool calls and tool results of very different sizes.
    Mixed,
    /// A few lines of many megabytes.
    Huge,
    /// As many bytes in five lines as `Longest` has in one.
    Long,
    /// One line.
    Longest,
}

/// The length of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Size {
    Full,
    /// Enough to check that everything works.
    Quick,
}

impl Workload {
    /// The workloads with a table.
    pub(crate) const TABLES: [Self; 3] = [Self::Deltas, Self::Mixed, Self::Huge];

    const ALL: [Self; 5] = [Self::Deltas, Self::Mixed, Self::Huge, Self::Long, Self::Longest];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Deltas => "deltas",
            Self::Mixed => "mixed",
            Self::Huge => "huge",
            Self::Long => "long",
            Self::Longest => "longest",
        }
    }

    /// The length of the longest line, in bytes.
    pub(crate) fn longest_line(self, size: Size) -> usize {
        match (self, size) {
            (Self::Huge | Self::Long | Self::Longest, Size::Full) => 100_000_000,
            // An unoptimised program is only tested; its numbers mean nothing.
            (Self::Huge | Self::Long | Self::Longest, Size::Quick) if cfg!(debug_assertions) => 1_000_000,
            (Self::Huge | Self::Long | Self::Longest, Size::Quick) => 10_000_000,
            (Self::Deltas | Self::Mixed, _) => 0,
        }
    }
}

impl FromStr for Workload {
    type Err = anyhow::Error;

    fn from_str(name: &str) -> anyhow::Result<Self> {
        match Self::ALL.into_iter().find(|workload| workload.name() == name) {
            Some(workload) => Ok(workload),
            None => bail!("unknown workload {name}"),
        }
    }
}

impl Size {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Quick => "quick",
        }
    }
}

impl FromStr for Size {
    type Err = anyhow::Error;

    fn from_str(name: &str) -> anyhow::Result<Self> {
        match name {
            "full" => Ok(Self::Full),
            "quick" => Ok(Self::Quick),
            _ => bail!("unknown size {name}"),
        }
    }
}

/// Writes a stream to standard output.
pub(crate) fn write(workload: Workload, size: Size) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    // A bigger pipe means fewer switches between the two processes. If it is not allowed, the default is fine.
    let _ = rustix::pipe::fcntl_setpipe_size(&out, 1 << 20);
    let mut maker = Maker::default();
    match (workload, size) {
        (Workload::Deltas, Size::Full) => out.write_all(maker.deltas(400, 500).as_bytes())?,
        (Workload::Deltas, Size::Quick) => out.write_all(maker.deltas(20, 500).as_bytes())?,
        (Workload::Mixed, Size::Full) => out.write_all(maker.mixed(50_000).as_bytes())?,
        (Workload::Mixed, Size::Quick) => out.write_all(maker.mixed(2_000).as_bytes())?,
        (Workload::Huge, size) => {
            let longest = Workload::Huge.longest_line(size);
            for _ in 0..20 {
                out.write_all(maker.tool_result("toolu_1", longest / 5).as_bytes())?;
            }
            out.write_all(maker.tool_result("toolu_2", longest).as_bytes())?;
        }
        (Workload::Long, size) => {
            for _ in 0..5 {
                out.write_all(
                    maker.tool_result("toolu_1", Workload::Long.longest_line(size) / 5).as_bytes(),
                )?;
            }
        }
        (Workload::Longest, size) => {
            out.write_all(maker.tool_result("toolu_1", Workload::Longest.longest_line(size)).as_bytes())?;
        }
    }
    Ok(())
}

const SESSION: &str = "6492f1a6-8f20-4999-a476-fc84fb36debb";

/// Generates lines from its own small random number generator, so that every run sees the same bytes.
struct Maker {
    state: u64,
}

impl Default for Maker {
    fn default() -> Self {
        Self { state: 0x9E37_79B9_7F4A_7C15 }
    }
}

impl Maker {
    fn next(&mut self) -> u64 {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        self.state
    }

    /// Between zero and one.
    fn fraction(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// The sum of twelve, which is close enough to a normal distribution.
    fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.fraction()).sum::<f64>() - 6.0
    }

    fn uuid(&mut self) -> String {
        let (a, b) = (self.next(), self.next());
        format!(
            "{:08x}-{:04x}-4{:03x}-a{:03x}-{:012x}",
            a as u32,
            (a >> 32) as u16,
            b & 0xFFF,
            (b >> 12) & 0xFFF,
            b >> 16
        )
    }

    /// Messages that arrive in pieces and then whole, as with partial messages enabled.
    fn deltas(&mut self, messages: usize, pieces: usize) -> String {
        let mut out = String::new();
        self.init(&mut out);
        for number in 0..messages {
            let id = format!("msg_{number:06}");
            let mut whole = String::new();
            self.event(&mut out, &id, &format!(r#"{{"message":{{"id":"{id}","type":"message","role":"assistant","model":"claude-opus-5-5","content":[],"stop_reason":null,"stop_sequence":null,"usage":{{"input_tokens":100,"output_tokens":1}}}},"type":"message_start"}}"#));
            self.event(
                &mut out,
                &id,
                r#"{"index":0,"content_block":{"type":"text","text":""},"type":"content_block_start"}"#,
            );
            for _ in 0..pieces {
                let piece = self.piece();
                self.event(&mut out, &id, &format!(r#"{{"index":0,"delta":{{"type":"text_delta","text":"{piece}"}},"type":"content_block_delta"}}"#));
                whole.push_str(&piece);
            }
            self.assistant(&mut out, &id, &format!(r#"{{"type":"text","text":"{whole}"}}"#));
            self.event(&mut out, &id, r#"{"index":0,"type":"content_block_stop"}"#);
            self.event(&mut out, &id, r#"{"type":"message_stop"}"#);
        }
        self.result(&mut out);
        out
    }

    /// A few words, about one in ten with an escape.
    fn piece(&mut self) -> String {
        const WORDS: [&str; 8] =
            ["the ", "function ", "returns ", "a value ", "that is ", "checked ", "before ", "use "];
        let mut text = String::new();
        for _ in 0..3 + self.next() % 5 {
            text.push_str(WORDS.get(self.next() as usize % WORDS.len()).copied().unwrap_or_default());
        }
        if self.next().is_multiple_of(10) {
            text.push_str("\\n\\\"quoted\\\" ");
        }
        text
    }

    fn event(&mut self, out: &mut String, message: &str, event: &str) {
        let uuid = self.uuid();
        let _ = writeln!(
            out,
            r#"{{"type":"stream_event","event":{event},"session_id":"{SESSION}","parent_tool_use_id":null,"uuid":"{uuid}","api_message_id":"{message}"}}"#
        );
    }

    fn assistant(&mut self, out: &mut String, message: &str, block: &str) {
        let uuid = self.uuid();
        let _ = writeln!(
            out,
            r#"{{"type":"assistant","message":{{"id":"{message}","type":"message","role":"assistant","model":"claude-opus-5-5","content":[{block}],"stop_reason":null,"stop_sequence":null,"usage":{{"input_tokens":100,"output_tokens":1,"cache_creation_input_tokens":0,"cache_read_input_tokens":0}},"context_management":null}},"parent_tool_use_id":null,"session_id":"{SESSION}","uuid":"{uuid}","timestamp":"2026-11-15T07:03:07.967Z"}}"#
        );
    }

    fn init(&mut self, out: &mut String) {
        let uuid = self.uuid();
        let _ = writeln!(
            out,
            r#"{{"type":"system","subtype":"init","cwd":"/workspace/demo","session_id":"{SESSION}","tools":["Task","Bash","Edit","Read","Write"],"mcp_servers":[],"model":"claude-opus-5-5","permissionMode":"default","slash_commands":["clear","compact"],"apiKeySource":"none","claude_code_version":"2.1.325","uuid":"{uuid}"}}"#
        );
    }

    fn result(&mut self, out: &mut String) {
        let uuid = self.uuid();
        let _ = writeln!(
            out,
            r#"{{"duration_api_ms":59,"stop_reason":"end_turn","session_id":"{SESSION}","total_cost_usd":0.0014,"usage":{{"input_tokens":100,"output_tokens":50}},"modelUsage":{{"claude-opus-5-5":{{"inputTokens":100,"outputTokens":50,"costUSD":0.0014}}}},"permission_denials":[],"is_error":false,"num_turns":1,"subtype":"success","result":"Done.","type":"result","duration_ms":341,"uuid":"{uuid}"}}"#
        );
    }

    /// Text, calls and results alternating, in the proportions of a working agent.
    fn mixed(&mut self, lines: usize) -> String {
        let mut out = String::new();
        self.init(&mut out);
        for number in 0..(lines / 5) {
            let message = format!("msg_{number:06}");
            let text = self.piece();
            self.assistant(&mut out, &message, &format!(r#"{{"type":"text","text":"{text}"}}"#));
            for call in 0..2 {
                let tool = format!("toolu_{number:06}{call}");
                self.assistant(&mut out, &message, &format!(r#"{{"type":"tool_use","id":"{tool}","name":"Bash","input":{{"command":"cargo test --workspace","description":"run the tests"}}}}"#));
                let size = (3_500.0 * (1.35 * self.normal()).exp()).clamp(200.0, 200_000.0);
                out.push_str(&self.tool_result(&tool, size as usize));
            }
        }
        self.result(&mut out);
        out
    }

    /// A tool result of about this size: it contains the tool's output twice, like the CLI's own lines.
    fn tool_result(&mut self, tool: &str, size: usize) -> String {
        const LINES: [&str; 4] = [
            "   Compiling weir-wire v0.1.0 (crates/weir-wire)\\n",
            "test decode::tests::a_known_type_in_a_new_shape ... ok\\n",
            "    println!(\\\"{}\\\", value.to_string());\\n",
            "\\twarning: naïve façade → 12 lines omitted\\n",
        ];
        let mut printed = String::with_capacity(size / 2 + 64);
        while printed.len() < size / 2 {
            printed.push_str(LINES.get(self.next() as usize % LINES.len()).copied().unwrap_or_default());
        }
        let uuid = self.uuid();
        let mut out = String::with_capacity(size + 1024);
        let _ = writeln!(
            out,
            r#"{{"type":"user","message":{{"role":"user","content":[{{"tool_use_id":"{tool}","type":"tool_result","content":"{printed}","is_error":false}}]}},"parent_tool_use_id":null,"session_id":"{SESSION}","uuid":"{uuid}","timestamp":"2026-11-15T07:03:08.387Z","tool_use_result":{{"stdout":"{printed}","stderr":"","interrupted":false,"isImage":false,"noOutputExpected":false}}}}"#
        );
        out
    }
}
