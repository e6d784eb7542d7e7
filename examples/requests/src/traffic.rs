//! Made-up requests: the same ones in every run, so that the output of the app can be checked.

use bucket_mongo::bson::DateTime;
use example_kit::dice::Dice;

use crate::model::Request;

/// 2026-01-30T10:15:23Z, the first request of the tutorial.
const START: i64 = 1_769_768_123_000;

/// The requests that one writer sees, one after the other.
pub(crate) fn of_writer(writer: u64) -> impl Iterator<Item = Request> {
    let mut dice = Dice::new(writer);
    let mut millis = START;
    (1_u32..).map(move |number| {
        millis += i64::from(dice.roll(500));
        let (service_name, endpoint, shortest) = endpoint(&mut dice);
        let status_code = status_code(&mut dice);
        // Failing requests take longer.
        let spread = if status_code >= 500 { 2_000 } else { 100 };
        Request {
            service_name: service_name.to_owned(),
            endpoint: endpoint.to_owned(),
            timestamp: DateTime::from_millis(millis),
            duration_ms: shortest + i64::from(dice.roll(spread)),
            status_code,
            request_id: format!("req_{writer}_{number:04}"),
        }
    })
}

/// A service, its endpoint, and the shortest time that it takes.
fn endpoint(dice: &mut Dice) -> (&'static str, &'static str, i64) {
    match dice.roll(10) {
        0..5 => ("api-gateway", "/api/v1/users", 12),
        5..8 => ("api-gateway", "/api/v1/orders", 35),
        8 => ("billing", "/invoices", 150),
        _ => ("login", "/session", 4),
    }
}

fn status_code(dice: &mut Dice) -> i32 {
    match dice.roll(100) {
        0..2 => 500,
        2 => 503,
        3..10 => 404,
        10..25 => 201,
        _ => 200,
    }
}
