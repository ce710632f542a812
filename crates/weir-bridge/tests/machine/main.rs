//! Tests of the machine alone, without faults.
#![cfg(test)]

mod asks;
mod buttons;
mod chat;
mod commands;
mod files;
mod large;
mod lessons;
mod news;
