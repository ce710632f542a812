//! The machine by itself: what it says and does, without faults.
#![cfg(test)]

mod asks;
mod chat;
mod lessons;
mod news;
