//! The simulated CLI, built next to the tests of this crate so that they can start it.

use std::process::ExitCode;

fn main() -> ExitCode {
    let words = std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned());
    weir_testkit::simulated::play(&words.collect::<Vec<String>>())
}
