//! The scripted Messages API as a program: prints its port and serves until its standard input ends.

use std::io::{self, Read, Write};
use std::process::ExitCode;

use weir_testkit::api::ScriptedApi;

fn main() -> ExitCode {
    match serve() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _closed_stderr = writeln!(io::stderr(), "scripted-api: {error}");
            ExitCode::FAILURE
        }
    }
}

fn serve() -> Result<(), Box<dyn std::error::Error>> {
    let api = ScriptedApi::start()?;
    let mut out = io::stdout().lock();
    writeln!(out, "{}", api.port())?;
    out.flush()?;
    // The parent ends it by closing the pipe or by exiting, so nothing is left behind.
    let mut ignored = [0; 1024];
    while io::stdin().lock().read(&mut ignored)? > 0 {}
    Ok(())
}
