//! Commands that change data: they show a plan, and do it with `--yes`.

use super::program::Program;

/// Without `--yes`: exit code 4, and nothing changed.
async fn only_plans(program: &Program, arguments: &[&str]) {
    let before = program.everything().await;
    let ran = program.run(arguments);
    assert_eq!(ran.code, Some(4), "{arguments:?}: {ran:?}");
    assert!(ran.err.contains("--yes"), "{ran:?}");
    assert_eq!(program.everything().await, before, "{arguments:?}");
    let ran = program.run(&[arguments, &["--json"]].concat());
    let line = &ran.json()[0];
    assert!(line["done"].is_null() || line["done"] == false, "{ran:?}");
    assert_eq!(program.everything().await, before, "{arguments:?}");
}

/// With `--yes`: done, and then there is nothing left to do.
async fn does(program: &Program, arguments: &[&str]) {
    let before = program.everything().await;
    let with_yes = [arguments, &["--yes"]].concat();
    let ran = program.run(&with_yes);
    assert_eq!(ran.code, Some(0), "{arguments:?}: {ran:?}");
    assert_ne!(program.everything().await, before, "{arguments:?}");
    let after = program.everything().await;
    let ran = program.run(arguments);
    assert_eq!(ran.code, Some(0), "{arguments:?}: {ran:?}");
    assert_eq!(program.everything().await, after, "{arguments:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_sealed_merged_or_archived_without_yes() {
    let program = Program::new("cli_plans").await;
    program.fill_readings(30).await;
    let archive = ["--archive-collection", "old_readings"];
    let commands: [Vec<&str>; 5] = [
        vec!["seal", "-m", "readings"],
        vec!["merge", "-m", "readings", "--settled", "0s"],
        [&["archive", "-m", "readings"], &archive[..]].concat(),
        [&["archive", "--undo", "-m", "readings"], &archive[..]].concat(),
        vec!["seal", "--undo", "-m", "readings"],
    ];
    let key = ["device=b", "channel=7"];
    for command in &commands {
        only_plans(&program, command).await;
        does(&program, command).await;
        let records =
            program.run(&[&["stats", "-m", "readings", "--json"], &key[..], &archive].concat());
        assert_eq!(
            records.json()[0]["records"],
            180,
            "{command:?}: {records:?}"
        );
    }
    let ran = program.run(&["archive", "-m", "readings"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    let ran = program.run(&["seal", "-m", "trades"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn damage_is_exit_code_3_and_is_mended_only_with_yes() {
    let program = Program::new("cli_repair").await;
    program.fill_readings(3).await;
    assert_eq!(program.run(&["verify", "-m", "readings"]).code, Some(0));
    program.damage_readings(1).await;
    let ran = program.run(&["verify", "-m", "readings", "--json"]);
    assert_eq!(ran.code, Some(3), "{ran:?}");
    let lines = ran.json();
    assert_eq!(lines[0]["finding"]["problem"], "aggregate", "{ran:?}");
    let key = lines[0]["finding"]["key"].to_string();
    let of_key = program.run(&["stats", "-m", "readings", &key]);
    assert_eq!(of_key.code, Some(0), "{of_key:?}");
    assert_eq!(lines[1]["summary"]["harmful"], 1);
    assert_eq!(lines[1]["summary"]["complete"], true);
    let repair = ["repair", "-m", "readings"];
    only_plans(&program, &repair).await;
    does(&program, &repair).await;
    assert_eq!(program.run(&["verify", "-m", "readings"]).code, Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn retention_changes_only_with_yes() {
    let program = Program::new("cli_expire").await;
    program.fill_readings(3).await;
    let readings = program
        .database()
        .collection::<bucket_mongo::bson::Document>("readings");
    readings.drop_index("bucket_expire").await.unwrap();
    let expire = ["expire", "-m", "readings"];
    only_plans(&program, &expire).await;
    let names = readings.list_index_names().await.unwrap();
    assert!(!names.contains(&"bucket_expire".to_owned()));
    let ran = program.run(&["expire", "-m", "readings", "--yes"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let names = readings.list_index_names().await.unwrap();
    assert!(names.contains(&"bucket_expire".to_owned()));
    assert_eq!(program.run(&expire).code, Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_server_refuses_documents_only_with_yes() {
    let program = Program::new("cli_validator").await;
    program.fill_readings(3).await;
    only_plans_of_ensure(&program, "--validator").await;
    let ran = program.run(&["ensure", "-m", "readings", "--validator", "--yes"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(has_validator(&program).await);
}

async fn only_plans_of_ensure(program: &Program, option: &str) {
    let ran = program.run(&["ensure", "-m", "readings", option]);
    assert_eq!(ran.code, Some(4), "{ran:?}");
    assert!(!has_validator(program).await);
}

async fn has_validator(program: &Program) -> bool {
    let list = bucket_mongo::bson::doc! { "listCollections": 1, "filter": { "name": "readings" } };
    let found = program.database().run_command(list).await.unwrap();
    found.to_string().contains("validator\": {")
}

#[tokio::test(flavor = "multi_thread")]
async fn buckets_sealed_before_the_model_had_merge_are_in_the_plan() {
    let program = Program::new("cli_dated").await;
    program.fill_readings(30).await;
    let sealed = program.run(&["seal", "-m", "readings", "--yes"]);
    assert_eq!(sealed.code, Some(0), "{sealed:?}");
    let readings = program
        .database()
        .collection::<bucket_mongo::bson::Document>("readings");
    let unset = bucket_mongo::bson::doc! { "$unset": { "_sealed.at": "" } };
    readings
        .update_many(bucket_mongo::bson::doc! {}, unset)
        .await
        .unwrap();
    let merge = ["merge", "-m", "readings", "--settled", "0s"];
    only_plans(&program, &merge).await;
    let plan = program.run(&[&merge[..], &["--json"]].concat());
    assert_eq!(plan.json()[0]["plan"]["buckets"], 0, "{plan:?}");
    let dated = program.run(&[&merge[..], &["--yes"]].concat());
    assert_eq!(dated.code, Some(0), "{dated:?}");
    let plan = program.run(&[&merge[..], &["--json"]].concat());
    assert_ne!(plan.json()[0]["plan"]["buckets"], 0, "{plan:?}");
}
