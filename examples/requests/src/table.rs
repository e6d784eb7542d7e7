//! Endpoints as a table.

use std::collections::BTreeSet;

use example_kit::table::{Cell, finished, number, table};

use crate::endpoint::Endpoint;

/// The figures of each endpoint, with a column for each status code.
pub(crate) fn endpoints(endpoints: &[Endpoint]) -> String {
    let codes = endpoints.iter().flat_map(|e| e.status_codes.keys());
    let codes: BTreeSet<i32> = codes.copied().collect();
    let names: Vec<String> = codes.iter().map(ToString::to_string).collect();
    let mut header = vec![
        "service",
        "endpoint",
        "buckets",
        "requests",
        "errors",
        "average ms",
    ];
    header.extend(names.iter().map(String::as_str));
    let mut table = table(&header);
    for endpoint in endpoints {
        let cells = [
            Cell::new(&endpoint.key.service_name),
            Cell::new(&endpoint.key.endpoint),
            number(format!("1 to {}", endpoint.last_bucket)),
            number(endpoint.requests),
            number(endpoint.errors),
            number(format!("{:.1}", endpoint.average_duration_ms())),
        ];
        let numbers = codes.iter().map(|code| endpoint.status_codes.get(code));
        let numbers = numbers.map(|found| number(found.copied().unwrap_or_default()));
        table.add_row(cells.into_iter().chain(numbers));
    }
    finished(table)
}
