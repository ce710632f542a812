//! Recordings of the real CLI.

use weir_simulator::json::{Json, parse};
use weir_testkit::Capture;

/// A recorded process.
#[derive(Debug, Clone)]
pub(crate) struct Recording {
    pub(crate) version: String,
    pub(crate) name: String,
    pub(crate) arguments: Vec<String>,
    pub(crate) environment: Vec<(String, String)>,
    /// The input, line by line.
    pub(crate) input: Vec<String>,
    /// The output.
    pub(crate) output: Vec<u8>,
    /// The exit status; `None` if the recording was cut off.
    pub(crate) exit: Option<i64>,
    pub(crate) stderr: String,
}

impl Recording {
    pub(crate) fn title(&self) -> String {
        format!("{}/{}", self.version, self.name)
    }

    /// The number of results.
    pub(crate) fn results(&self) -> usize {
        let lines = self.output.split(|byte| *byte == b'\n').filter(|line| line.len() < 100_000);
        let values = lines.filter_map(|line| parse(&String::from_utf8_lossy(line)).ok());
        values.filter(|line| line.str_of("type") == Some("result")).count()
    }

    pub(crate) fn is_old(&self) -> bool {
        self.version == "2.1.9"
    }
}

/// All recordings, in order.
pub(crate) fn recordings() -> Vec<Recording> {
    Capture::all().unwrap().iter().map(read).collect()
}

fn read(capture: &Capture) -> Recording {
    let folder = capture.path.parent().unwrap();
    let file = |end: &str| std::fs::read(folder.join(format!("{}.{end}", capture.name))).unwrap();
    let about = parse(&String::from_utf8(file("json")).unwrap()).unwrap();
    let text = |value: &Json| value.as_str().unwrap().to_owned();
    let environment = about.get("env").map(Json::members).unwrap_or_default();
    Recording {
        version: capture.version.clone(),
        name: capture.name.clone(),
        arguments: about.items_of("args").iter().map(text).collect(),
        environment: environment.iter().map(|(key, value)| (key.clone(), text(value))).collect(),
        input: String::from_utf8(file("in.ndjson")).unwrap().lines().map(str::to_owned).collect(),
        output: capture.read().unwrap(),
        exit: about.integer_of("exit"),
        stderr: about.str_of("stderr").unwrap_or_default().to_owned(),
    }
}
