//! Real CLIs, driven by a session as a program would, with the simulated CLI beside them. They have to be installed:
//! `scripts/setup-real-cli.sh`, which `make test` runs. `WEIR_SKIP_REAL_CLI=1` leaves these tests out, and says so.

#[cfg(test)]
mod brake;
#[cfg(test)]
#[cfg(feature = "mcp")]
#[path = "../programs/calc.rs"]
mod calc;
#[cfg(test)]
mod flags;
#[cfg(test)]
mod folder;
#[cfg(test)]
mod host;
#[cfg(test)]
mod inert;
#[cfg(test)]
#[cfg(feature = "mcp")]
mod mcp;
#[cfg(test)]
mod options;
#[cfg(test)]
mod player;
#[cfg(test)]
#[path = "../programs/find.rs"]
mod programs;
#[cfg(test)]
mod recorder;
#[cfg(test)]
mod sandbox;
#[cfg(test)]
mod scenarios;
#[cfg(test)]
mod tools;

/// The real CLIs to test with. Fails, and says what to do, where one is missing.
#[cfg(test)]
fn real_clis() -> Vec<weir_testkit::real::RealCli> {
    weir_testkit::real::RealCli::required().unwrap_or_else(|error| panic!("{error}"))
}
