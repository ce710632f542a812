//! The machine by itself: what it says and does, without faults.
#![cfg(test)]

mod asks;
mod buttons;
mod chat;
mod commands;
mod files;
mod large;
mod lessons;
mod news;
