//! Tests of the fold's public API.

#[cfg(test)]
mod answers;
#[cfg(test)]
mod captures;
#[cfg(test)]
mod costs;
#[cfg(test)]
mod logged;
#[cfg(test)]
mod odd_streams;
#[cfg(test)]
mod page;
#[cfg(test)]
mod requests;
#[cfg(test)]
mod retention;
#[cfg(test)]
mod streaming;
#[cfg(test)]
mod support;
#[cfg(test)]
mod tools_and_agents;
#[cfg(test)]
mod turns;
#[cfg(test)]
mod vocabularies;
