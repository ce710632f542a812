//! Real CLIs, driven by a session as a program would, compared with the simulated CLI. They have to be
//! installed: `scripts/setup-real-cli.sh`, which `make test` runs. `WEIR_SKIP_REAL_CLI=1` skips these tests,
//! and says so.

#[cfg(test)]
mod brake;
#[cfg(test)]
#[cfg(feature = "mcp")]
#[path = "../programs/calc.rs"]
mod calc;
#[cfg(test)]
mod dialogs;
#[cfg(test)]
mod flags;
#[cfg(test)]
mod folder;
#[cfg(test)]
mod guard;
#[cfg(test)]
mod host;
#[cfg(test)]
mod inert;
#[cfg(test)]
#[cfg(feature = "mcp")]
mod mcp;
#[cfg(test)]
mod messages;
#[cfg(test)]
mod model;
#[cfg(test)]
mod options;
#[cfg(test)]
mod player;
#[cfg(test)]
mod rare_options;
#[cfg(test)]
mod recorder;
#[cfg(test)]
mod requests;
#[cfg(test)]
mod sandbox;
#[cfg(test)]
mod scenarios;
#[cfg(test)]
mod session_options;
#[cfg(test)]
mod spares;
#[cfg(test)]
mod tools;

/// The real CLIs to test with. Fails with instructions if one is missing.
#[cfg(test)]
fn real_clis() -> Vec<weir_testkit::real::RealCli> {
    weir_testkit::real::RealCli::required()
}
