//! The grammar, without a macro around it.

use super::{Names, Segment, Unit, check, default_text};

fn names() -> Names<'static> {
    Names {
        keys: vec!["customer_id".into(), "venue".into()],
        time: "date".into(),
        number: None,
        unit: "s",
        others: vec!["date", "ticker"],
    }
}

fn problem(template: &str) -> String {
    check(template, &names()).unwrap_err().join(" / ")
}

#[test]
fn the_default_names_all_keys_in_order() {
    assert_eq!(default_text(&names()), "{customer_id}_{venue}_{date:s}");
    assert!(check(&default_text(&names()), &names()).is_ok());
}

#[test]
fn prefix_order_separators_and_braces_are_free() {
    let segments = check("v1-{{x}}{venue}/to={customer_id}:{date:ms}", &names()).unwrap();
    assert_eq!(
        segments,
        [
            Segment::Literal("v1-{x}".into()),
            Segment::Key(1),
            Segment::Literal("/to=".into()),
            Segment::Key(0),
            Segment::Literal(":".into()),
            Segment::Time(Unit::Millis),
        ]
    );
}

#[test]
fn each_mistake_is_named() {
    for (template, expected) in [
        ("{customer_id}{venue}_{date:s}", "need a separator"),
        ("{customer_id}-{venue}_{date:s}", "cannot be separated"),
        ("{customer_id}_{venue}_{date}", "has no unit"),
        ("{customer_id}_{venue}_{date:h}", "unknown unit `h`"),
        ("{customer_id:s}_{venue}_{date:s}", "a key has no unit"),
        ("{customer_id}_{date:s}", "does not name the key `{venue}`"),
        ("{customer_id}_{venue}_{venue}_{date:s}", "`{venue}` twice"),
        ("{customer_id}_{venue}", "does not name the time"),
        (
            "{customer_id}_{venue}_{date:s}_{date:s}",
            "names the time `{date}` twice",
        ),
        ("{customer_id}_{venue}_{date:s}x", "must come last"),
        (
            "{customer_id}_{ticker}_{venue}_{date:s}",
            "`{ticker}` is not a key",
        ),
        (
            "{customerid}_{venue}_{date:s}",
            "did you mean `customer_id`?",
        ),
        ("{customer_id}_{venue}_{date:s", "is not closed"),
        ("{customer_id}_{venue}}_{date:s}", "`}` without `{`"),
        ("a\n{customer_id}_{venue}_{date:s}", "control character"),
        ("", "does not name the key `{customer_id}`"),
    ] {
        let problem = problem(template);
        assert!(problem.contains(expected), "{template}: {problem}");
    }
}

#[test]
fn a_number_replaces_the_time() {
    let names = Names {
        number: Some("bucket_number".into()),
        ..names()
    };
    let text = default_text(&names);
    assert_eq!(text, "{customer_id}_{venue}_{bucket_number}");
    let segments = check(&text, &names).unwrap();
    assert_eq!(segments.last(), Some(&Segment::Number));
    for (last, expected) in [
        ("{date:s}", "write `{bucket_number}`"),
        ("{date}", "write `{bucket_number}`"),
        ("{bucket_number:s}", "a number has no unit"),
        (
            "{bucket_number}_{bucket_number}",
            "names the number `{bucket_number}` twice",
        ),
        ("x", "does not name the number `{bucket_number}`"),
        (
            "{number}",
            "it can name `customer_id`, `venue` and `bucket_number`",
        ),
    ] {
        let template = format!("{{customer_id}}_{{venue}}_{last}");
        let problem = check(&template, &names).unwrap_err().join(" / ");
        assert!(problem.contains(expected), "{template}: {problem}");
    }
    let problem = problem("{customer_id}_{venue}_{bucket_number}");
    assert!(
        problem.contains("without `numbered`: write `{date:s}`"),
        "{problem}"
    );
}

#[test]
fn all_problems_come_out_at_once() {
    assert_eq!(check("{nope}_{date}", &names()).unwrap_err().len(), 2);
    assert_eq!(check("x", &names()).unwrap_err().len(), 3);
}
