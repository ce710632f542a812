//! Real CLIs against the scripted API, and the simulated CLI beside them. They have to be installed:
//! `scripts/setup-real-cli.sh`, which `make test` runs. `WEIR_SKIP_REAL_CLI=1` leaves these tests out, and says so.

#[cfg(test)]
mod behaviour;
#[cfg(test)]
mod conformance;
#[cfg(test)]
mod flags;
#[cfg(test)]
mod support;
