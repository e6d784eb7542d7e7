//! The newest record of every key: every form against a naive model, and what it costs.

mod cost;
mod damage;
mod every_form;
mod every_key;
mod longer_windows;
mod models;
