//! What a build without object stores does with a URL.

use crate::support::{Folder, run};

#[test]
fn a_url_is_refused_with_what_to_do() {
    let (folder, url) = (Folder::new(), "s3://bucket/run.cw");
    let (runs, new) = (folder.name(""), folder.name("new.cw"));
    for words in [
        vec!["report", url],
        vec!["table", url, "threads"],
        vec!["label", url],
        vec!["compare", url, url],
        vec!["import", url, "-o", &new],
        vec!["fleet", "index", url],
        vec!["fleet", "index", &runs, "--into", url],
        vec!["fleet", "report", url],
        // It names the catalogue below the URL.
        vec!["fleet", "prune", url, "--keep", "30d"],
        vec!["fleet", "copy", url, &runs],
    ] {
        let ran = run(&words);
        let said = ": this build reads no object stores; build with `--features stores`, or install the package";
        let named = ran.err.contains(url) && ran.err.contains(said);
        assert!(ran.code == Some(2) && named, "{words:?}: {:?} {}", ran.code, ran.err);
    }
}
