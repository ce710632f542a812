//! Recordings of the real CLI.

use std::path::{Path, PathBuf};

use weir_simulator::json::{Json, parse};

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

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/captures")
}

/// All recordings, in order.
pub(crate) fn recordings() -> Vec<Recording> {
    let mut found = Vec::new();
    for version in ["2.1.325", "2.1.9"] {
        let folder = root().join(version);
        let mut names: Vec<String> = std::fs::read_dir(&folder)
            .unwrap()
            .filter_map(|entry| {
                entry.unwrap().file_name().to_str().unwrap().strip_suffix(".out.ndjson").map(str::to_owned)
            })
            .collect();
        names.sort();
        found.extend(names.iter().map(|name| read(&folder, version, name)));
    }
    found
}

fn read(folder: &Path, version: &str, name: &str) -> Recording {
    let file = |end: &str| std::fs::read(folder.join(format!("{name}.{end}"))).unwrap();
    let about = parse(&String::from_utf8(file("json")).unwrap()).unwrap();
    let text = |value: &Json| value.as_str().unwrap().to_owned();
    let environment = about.get("env").map(Json::members).unwrap_or_default();
    Recording {
        version: version.to_owned(),
        name: name.to_owned(),
        arguments: about.items_of("args").iter().map(text).collect(),
        environment: environment.iter().map(|(key, value)| (key.clone(), text(value))).collect(),
        input: String::from_utf8(file("in.ndjson")).unwrap().lines().map(str::to_owned).collect(),
        output: file("out.ndjson"),
        exit: about.integer_of("exit"),
        stderr: about.str_of("stderr").unwrap_or_default().to_owned(),
    }
}
