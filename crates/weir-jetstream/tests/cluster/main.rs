//! The log on real NATS servers: `make test-cluster`.

#[cfg(test)]
mod conformance;
#[cfg(test)]
mod faults;
#[cfg(test)]
mod full;
#[cfg(test)]
mod refusals;
#[cfg(test)]
mod support;
