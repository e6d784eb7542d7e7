//! `catalog compare`.

use example_kit::testing::{server, uri};
use serde_json::Value;

use crate::app::{CATALOG, products, spec, with_products};

/// What was examined, by form: keys and documents.
fn examined(answer: &Value, form: &str) -> (u64, u64) {
    let of = |name: &str| answer[form][name].as_u64().unwrap();
    (of("keys"), of("documents"))
}

#[tokio::test]
async fn one_index_answers_what_twelve_answer_and_what_none_of_them_answers() {
    server().await;
    let ran = CATALOG.run(&["compare", "--products", "2000", "--json"], Some(&uri("")));
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{ran:?}");
    let compared = ran.json();
    assert_eq!(compared["products"], 2_000);
    let forms = compared["forms"].as_array().unwrap();
    let indexes: Vec<_> = forms
        .iter()
        .map(|form| form["indexes"].as_u64().unwrap())
        .collect();
    assert_eq!(indexes, [12, 12, 1]);
    for form in forms {
        for bytes in ["document_bytes", "stored_bytes", "index_bytes"] {
            assert!(form[bytes].as_u64().unwrap() > 0, "{form}");
        }
    }

    let answers = compared["answers"].as_array().unwrap();
    let (heaviest, questions) = answers.split_last().unwrap();
    for answer in questions {
        let found = answer["found"].as_u64().unwrap();
        assert!(found > 0, "{answer}");
        let (keys, documents) = examined(answer, "attributes");
        assert_eq!(
            answer["attributes"]["indexes"],
            serde_json::json!(["attributes_specs"])
        );
        if answer["question"] == "warranty_months >= 60" {
            assert_eq!(examined(answer, "many_fields"), (0, 2_000), "{answer}");
            assert_eq!(answer["many_fields"]["indexes"], serde_json::json!([]));
            assert_eq!(documents, found, "{answer}");
        } else {
            // One more key at each end of the range.
            let (most_keys, most_documents) = examined(answer, "many_fields");
            assert!(
                keys <= most_keys + 2 && documents <= most_documents,
                "{answer}"
            );
        }
    }
    // Here many fields are better.
    assert_eq!(heaviest["found"], 10);
    assert_eq!(examined(heaviest, "many_fields"), (10, 10), "{heaviest}");
    assert_eq!(
        examined(heaviest, "attributes"),
        (2_000, 2_000),
        "{heaviest}"
    );
}

#[tokio::test]
async fn its_figures_are_those_of_the_products() {
    let app = with_products("compare", "900").await;
    let stored = products(&app).await;
    let teal = stored
        .iter()
        .filter(|one| spec(one, "color", None) == Some(&"teal".into()));
    let teal = teal.count().to_string();
    let ran = app.run(&["compare", "--products", "900"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{ran:?}");
    let rows = ran
        .stdout
        .lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>());
    let row = rows
        .into_iter()
        .find(|row| row.starts_with(&["color", "=", "teal"]))
        .unwrap();
    assert_eq!(row[3..5], [&teal, &teal], "{row:?}");
    assert!(ran.stdout.lines().all(|line| line.len() <= 110), "{ran:?}");
    // The products of the user do not change.
    assert_eq!(products(&app).await, stored);
}
