//! The newest record of every key: every form against a naive model, and what it costs.

#[path = "common/draw.rs"]
mod draw;
#[path = "../../bucket-core/tests/common/drawn.rs"]
mod drawn;
#[path = "common/filled.rs"]
mod filled;
#[path = "../../bucket-core/tests/common/sample.rs"]
mod sample;

#[path = "latest_for_all/cost.rs"]
mod cost;
#[path = "latest_for_all/damage.rs"]
mod damage;
#[path = "latest_for_all/every_form.rs"]
mod every_form;
#[path = "latest_for_all/every_key.rs"]
mod every_key;
#[path = "latest_for_all/longer_windows.rs"]
mod longer_windows;
#[path = "latest_for_all/models.rs"]
mod models;
