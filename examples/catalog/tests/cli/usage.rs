//! The command line itself.

use crate::app::CATALOG;

#[test]
fn wrong_usage_is_exit_code_2() {
    for arguments in [
        ["load", "bottles"].as_slice(),
        &["load", "--products", "0"],
        &["find", "color"],
        &["find", "color = red", "--limit", "0"],
        &["compare", "--products", "-1"],
        &["--products", "5", "find"],
        &["migrate"],
        &["migrate", "--to", "rows"],
        &["sell"],
        &["--json"],
    ] {
        let ran = CATALOG.run(arguments, None);
        assert_eq!(
            (ran.code, ran.stdout.as_str()),
            (Some(2), ""),
            "{arguments:?}: {ran:?}"
        );
        assert!(ran.stderr.contains("error"), "{arguments:?}: {ran:?}");
    }
}

#[test]
fn an_unknown_attribute_is_refused_with_the_list_of_attributes() {
    let ran = CATALOG.run(&["find", "colour = red", "--json"], None);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{ran:?}");
    let expected = "invalid value 'colour = red' for '[CONDITION]...': `colour` is not an attribute of a \
        product; the attributes are volume_ml, height_cm, width_cm, depth_cm, weight_g, power_w, memory_gb, \
        screen_inches, pages, color, size, material, warranty_months";
    assert_eq!(ran.error()["error"], expected);
}

#[test]
fn help_names_the_variable_and_the_exit_codes() {
    let ran = CATALOG.run(&["--help"], None);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
    assert!(ran.stdout.contains("MONGODB_URI"), "{ran:?}");
    assert!(ran.stdout.contains("Exit codes"), "{ran:?}");
}
