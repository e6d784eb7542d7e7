//! Collections that differ from their models.

use bucket_mongo::{
    bson::{Document, doc},
    mongodb::IndexModel,
};

use super::program::Program;

#[tokio::test(flavor = "multi_thread")]
async fn status_goes_on_after_a_model_that_it_cannot_look_at() {
    let program = Program::new("cli_view").await;
    program.fill_readings(1).await;
    let view = doc! { "create": "trades", "viewOn": "readings", "pipeline": [] };
    program.database().run_command(view).await.unwrap();
    let ran = program.run(&["status"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.err.contains("error: "), "{ran:?}");
    assert!(ran.out.contains("readings (Reading)"), "{ran:?}");
    assert!(
        ran.out.contains("form: window = 1h, capacity = 100"),
        "{ran:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn ensure_names_only_the_remedies_that_help() {
    let program = Program::new("cli_drift").await;
    program.fill_readings(1).await;
    let readings = program.database().collection::<Document>("readings");
    readings.drop_index("bucket_expire").await.unwrap();
    let ran = program.run(&["ensure", "-m", "readings"]);
    assert_eq!(ran.code, Some(3), "{ran:?}");
    assert!(!ran.err.contains("--replace"), "{ran:?}");
    assert!(ran.err.contains("`expire`"), "{ran:?}");
    assert!(!ran.out.contains("()"), "{ran:?}");
    let ran = program.run(&["expire", "-m", "readings", "--yes"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    readings.drop_index("bucket_pages").await.unwrap();
    let other = IndexModel::builder().keys(doc! { "other": 1 });
    let named = bucket_mongo::mongodb::options::IndexOptions::builder();
    let named = named.name("bucket_pages".to_owned()).build();
    readings
        .create_index(other.options(named).build())
        .await
        .unwrap();
    let ran = program.run(&["verify", "-m", "readings"]);
    assert_eq!(ran.code, Some(3), "{ran:?}");
    assert!(!ran.out.contains("0 harmful"), "{ran:?}");
    let ran = program.run(&["ensure", "-m", "readings"]);
    assert!(ran.err.contains("--replace indexes --yes"), "{ran:?}");
    assert!(!ran.err.contains("validator"), "{ran:?}");
    let drop = ["ensure", "-m", "readings", "--replace", "indexes", "--yes"];
    assert_eq!(program.run(&drop).code, Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_quarantine_is_no_collection_of_a_model() {
    let program = Program::new("cli_quarantine").await;
    program.fill_readings(1).await;
    for name in ["trades", "readings"] {
        let repair = ["repair", "-m", "readings", "--quarantine", name];
        let ran = program.run(&repair);
        assert_eq!(ran.code, Some(2), "{ran:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_archived_bucket_is_not_called_damaged() {
    let program = Program::new("cli_archived").await;
    program.fill_readings(3).await;
    assert_eq!(
        program.run(&["seal", "-m", "readings", "--yes"]).code,
        Some(0)
    );
    let archive = [
        "archive",
        "-m",
        "readings",
        "--archive-collection",
        "old_readings",
        "--yes",
    ];
    assert_eq!(program.run(&archive).code, Some(0));
    let records = ["records", "-m", "readings", "device=a", "channel=7"];
    for command in [&["verify", "-m", "readings"][..], &records] {
        let ran = program.run(command);
        let all = format!("{}{}", ran.out, ran.err);
        assert!(all.contains("--archive-database"), "{all}");
        assert!(all.contains("archive --undo"), "{all}");
        for wrong in ["with_archive", "later release", "repair` mends"] {
            assert!(!all.contains(wrong), "{all}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bucket_with_any_id_can_be_shown() {
    let program = Program::new("cli_ids").await;
    let trades = program.database().collection::<Document>("trades");
    let other = doc! { "_id": { "a": 1 }, "note": "document" };
    let number = doc! { "_id": 5, "note": "number" };
    trades.insert_many([other, number]).await.unwrap();
    for (id, note) in [(r#"{"a":1}"#, "document"), ("5", "number")] {
        let ran = program.run(&["show", "-m", "trades", id]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert!(ran.out.contains(note), "{ran:?}");
    }
}
