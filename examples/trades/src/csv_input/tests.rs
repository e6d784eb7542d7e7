//! Properties of the CSV input.

use std::io::BufReader;

use bucket_mongo::bson::DateTime;
use example_kit::csv_input::Rows;

use super::*;
use crate::model::Side;

type Row = csv_input::Row<Trade>;

const HEADER: &str = "customer_id,ticker,type,qty,price,date";
const GOOD: &str = "5,MDB,buy,7,2.5,2010-12-01T08:26:00Z";

/// Every row of `input`, good or wrong.
fn read(input: impl AsRef<[u8]>) -> Vec<Result<Row, RowError>> {
    // A small buffer: a line seldom arrives in one piece.
    let mut rows = Rows::<_, Trade>::new(BufReader::with_capacity(7, input.as_ref())).unwrap();
    std::iter::from_fn(|| rows.next_row().unwrap()).collect()
}

/// The only row of a file with this line below the header.
fn row(line: impl AsRef<[u8]>) -> Result<Row, RowError> {
    let mut rows = read([HEADER.as_bytes(), b"\n", line.as_ref(), b"\n"].concat());
    assert_eq!(rows.len(), 1);
    rows.remove(0)
}

/// The message for the line below the header.
fn said(line: impl AsRef<[u8]>) -> String {
    row(line).unwrap_err().to_string()
}

fn trade() -> Trade {
    Trade {
        customer_id: 5,
        side: Side::Buy,
        ticker: "MDB".to_owned(),
        qty: 7,
        price: Some(2.5),
        date: DateTime::parse_rfc3339_str("2010-12-01T08:26:00Z").unwrap(),
    }
}

#[test]
fn every_built_in_row_is_a_trade() {
    assert_eq!(built_in().unwrap().len(), 998);
}

#[test]
fn a_row_is_read_by_the_names_of_the_columns() {
    let mixed = "date,note,qty,type,customer_id,price,ticker\n\
        2010-12-01T08:26:00Z,hello,7,buy,5,2.5,MDB";
    assert_eq!(
        read(mixed),
        [Ok(Row {
            line: 2,
            record: trade()
        })]
    );
}

#[test]
fn byte_order_mark_line_ends_blanks_and_quotes_do_not_matter() {
    let input = format!(
        "\u{feff}{HEADER}\r\n\r\n \"5\" ,MDB,buy,7,2.5,2010-12-01T08:26:00Z\r\n  \n\
         \"5\",\"MDB\",\"buy\",\"7\",\"2.5\",\"2010-12-01T09:26:00+01:00\"\n\n{GOOD}"
    );
    let rows = read(input);
    assert!(
        rows[0].is_err(),
        "a quote after a blank is part of the value"
    );
    let good: Vec<_> = rows[1..].iter().map(|row| row.as_ref().unwrap()).collect();
    assert_eq!(
        good,
        [
            &Row {
                line: 5,
                record: trade()
            },
            &Row {
                line: 7,
                record: trade()
            }
        ]
    );
    assert_eq!(
        row(" 5 ,MDB\t,buy , 7,2.5,2010-12-01T08:26:00Z ")
            .unwrap()
            .record,
        trade()
    );
}

#[test]
fn quoted_values_may_hold_commas_and_quotes() {
    let row = row("5,\"A,\"\"B\"\"\",sell,7,,2010-12-01T08:26:00Z").unwrap();
    assert_eq!(row.record.ticker, "A,\"B\"");
    assert_eq!(row.record.price, None);
}

#[test]
fn each_column_says_what_it_expects() {
    let date = "2010-12-01T08:26:00Z";
    for (line, expected) in [
        (
            format!("x,MDB,buy,7,2.5,{date}"),
            "customer_id: `x` is not a whole number",
        ),
        (
            format!("1.5,MDB,buy,7,2.5,{date}"),
            "customer_id: `1.5` is not a whole number",
        ),
        (
            format!("9223372036854775808,MDB,buy,7,2.5,{date}"),
            "customer_id: `9223372036854775808` is out of range",
        ),
        (format!(",MDB,buy,7,2.5,{date}"), "customer_id: is empty"),
        (format!("5, ,buy,7,2.5,{date}"), "ticker: is empty"),
        (
            format!("5,MDB,Hold,7,2.5,{date}"),
            "type: `Hold` is neither `buy` nor `sell`",
        ),
        (format!("5,MDB,buy,,2.5,{date}"), "qty: is empty"),
        (format!("5,MDB,buy,0,2.5,{date}"), "qty: `0` is less than 1"),
        (
            format!("5,MDB,buy,-3,2.5,{date}"),
            "qty: `-3` is less than 1",
        ),
        (
            format!("5,MDB,buy,2147483648,2.5,{date}"),
            "qty: `2147483648` is out of range",
        ),
        (
            format!("5,MDB,buy,7,1e999,{date}"),
            "price: `1e999` is not a number",
        ),
        (
            format!("5,MDB,buy,7,NaN,{date}"),
            "price: `NaN` is not a number",
        ),
        (
            format!("5,MDB,buy,7,-0.5,{date}"),
            "price: `-0.5` is less than 0",
        ),
        ("5,MDB,buy,7,2.5,".to_owned(), "date: is empty"),
    ] {
        assert_eq!(said(&line), format!("line 2, column {expected}"));
    }
}

#[test]
fn a_date_must_exist_and_name_its_time_zone() {
    for (date, expected) in [
        ("2023-02-30T00:00:00Z", "does not exist"),
        ("2023-02-28T25:00:00Z", "does not exist"),
        ("2023-02-28", "is not a date such as 2010-12-01T08:26:00Z"),
        (
            "2023-02-28T00:00:00",
            "is not a date such as 2010-12-01T08:26:00Z",
        ),
        (
            "28.2.2023 00:00:00Z",
            "is not a date such as 2010-12-01T08:26:00Z",
        ),
    ] {
        let expected = format!("line 2, column date: `{date}` {expected}");
        assert_eq!(said(format!("5,MDB,buy,7,2.5,{date}")), expected);
    }
}

#[test]
fn missing_extra_and_broken_values_cost_only_their_row() {
    let bytes = [
        format!("{HEADER}\n5,MDB,buy\n{GOOD},8\n5,\"MDB,buy,7,2.5,2010-12-01T08:26:00Z\n5,")
            .as_bytes(),
        b"\xff\xfe",
        format!(",buy,7,2.5,2010-12-01T08:26:00Z\n{GOOD}\n").as_bytes(),
    ]
    .concat();
    let rows = read(bytes);
    let said = rows.iter().filter_map(|row| row.as_ref().err());
    let said: Vec<_> = said.map(ToString::to_string).collect();
    assert_eq!(
        said,
        [
            "line 2, column qty: is missing",
            "line 3: has 7 values for 6 columns",
            "line 4: has a quote that is not closed on the line",
            "line 5, column ticker: is not UTF-8",
        ]
    );
    assert_eq!(
        rows.last(),
        Some(&Ok(Row {
            line: 6,
            record: trade()
        }))
    );
}

#[test]
fn a_line_without_an_end_does_not_fill_memory() {
    let rows = read(format!("{HEADER}\n{}\n{GOOD}\n", "7".repeat(1 << 20)));
    assert_eq!(
        rows[0].as_ref().unwrap_err().to_string(),
        "line 2: is longer than 64 KiB"
    );
    assert_eq!(
        rows[1],
        Ok(Row {
            line: 3,
            record: trade()
        })
    );
}

#[test]
fn a_value_is_shown_shortened_and_escaped() {
    let said = said(format!(
        "5,MDB,\u{1b}[31m{},7,2.5,2010-12-01T08:26:00Z",
        "x".repeat(99)
    ));
    assert!(said.contains("`\\u{1b}[31mxxx"), "{said}");
    assert!(said.contains("xxx..` is neither"), "{said}");
}

#[test]
fn a_wrong_header_is_reported() {
    let no_names = "does not begin with a line of column names";
    for (input, expected) in [
        ("", "is empty"),
        ("\n \r\n", "is empty"),
        (GOOD, no_names),
        ("\"customer_id", no_names),
        ("customer_id,ticker,type,price,date", "has no column `qty`"),
        (
            "customer_id,ticker,Type,price,date",
            "has no column `type`, `qty`",
        ),
        (
            "qty,customer_id,ticker,type,qty,price,date",
            "has the column `qty` more than once",
        ),
    ] {
        assert_eq!(
            Rows::<_, Trade>::new(input.as_bytes())
                .unwrap_err()
                .to_string(),
            expected
        );
    }
}
