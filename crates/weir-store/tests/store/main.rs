//! Tests of the stores through their public API.

#[cfg(test)]
mod background;
#[cfg(test)]
mod budget;
#[cfg(test)]
mod checkpoints;
#[cfg(test)]
mod conformance;
#[cfg(test)]
mod contract;
#[cfg(test)]
mod crash;
#[cfg(test)]
mod deleting;
#[cfg(test)]
mod export;
#[cfg(test)]
mod following;
#[cfg(test)]
mod full_disk;
#[cfg(test)]
#[cfg(unix)]
mod lost_disk;
#[cfg(test)]
#[cfg(target_os = "linux")]
mod maintenance;
#[cfg(test)]
mod model;
#[cfg(test)]
mod opening;
#[cfg(test)]
mod power_loss;
#[cfg(test)]
#[cfg(target_os = "linux")]
mod reserve;
#[cfg(test)]
mod searching;
#[cfg(test)]
mod sharing;
#[cfg(test)]
#[cfg(target_os = "linux")]
mod small_disk;
#[cfg(test)]
mod support;
