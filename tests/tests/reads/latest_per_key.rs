//! The newest record of every key: every form against a naive model, and the cost.

mod cost;
mod damage;
mod every_form;
mod every_key;
mod longer_windows;
mod models;
