//! Real CLIs against the scripted API. They have to be installed:
//! `scripts/setup-real-cli.sh`, which `make test` runs. `WEIR_SKIP_REAL_CLI=1` skips these tests, and says so.

#[cfg(test)]
mod behaviour;
#[cfg(test)]
mod flags;
#[cfg(test)]
mod support;
