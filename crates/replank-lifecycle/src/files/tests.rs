use std::fs;
use std::path::PathBuf;

use super::*;

/// A directory that goes with the test.
struct Tree(PathBuf);

impl Tree {
    fn new(name: &str, files: &[(&str, &str)]) -> Self {
        let root = std::env::temp_dir().join(format!("replank-{}-{name}", std::process::id()));
        if root.exists() {
            fs::remove_dir_all(&root).unwrap();
        }
        for (path, text) in files {
            let path = root.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        Self(root)
    }

    fn found(&self, below: &str, ignore: Ignore) -> (Vec<String>, Walk) {
        let walk = walk(&[self.0.join(below)], ignore).unwrap();
        let short = |file: &File| file.path.strip_prefix(&self.0).unwrap().to_string_lossy().into_owned();
        (walk.files.iter().map(short).collect(), walk)
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).unwrap();
    }
}

#[test]
fn gitignore_counts_from_the_root_of_the_repository() {
    let tree = Tree::new(
        "gitignore",
        &[
            (".git/info/exclude", "private.yaml\n"),
            (".git/config.yaml", ""),
            (".gitignore", "/out/\n*.gen.yaml\napps/skip\n"),
            ("out/a.yaml", ""),
            ("apps/out/b.yaml", ""),
            ("apps/c.gen.yaml", ""),
            ("apps/skip/d.yaml", ""),
            ("apps/private.yaml", ""),
            ("apps/.gitignore", "!kept.gen.yaml\n"),
            ("apps/kept.gen.yaml", ""),
            ("apps/README.md", ""),
            ("apps/.hidden/e.json", ""),
        ],
    );
    let expected = ["apps/.hidden/e.json", "apps/kept.gen.yaml", "apps/out/b.yaml"];
    let (files, walk) = tree.found("", Ignore::Git);
    assert_eq!(files, expected);
    assert_eq!(walk.left_out, 4, "out, c.gen.yaml, private.yaml, skip");
    assert_eq!(tree.found("apps", Ignore::Git).0, expected);
    assert_eq!(tree.found("", Ignore::Nothing).0.len(), 7);
    // What is named is read.
    assert_eq!(tree.found("apps/c.gen.yaml", Ignore::Git).0, ["apps/c.gen.yaml"]);
}

#[test]
fn charts_and_kustomizations_are_noticed() {
    let tree = Tree::new(
        "charts",
        &[
            ("chart/Chart.yaml", ""),
            ("chart/templates/a.yaml", ""),
            ("chart/templates/_b.tpl", ""),
            ("chart/templates/NOTES.txt", ""),
            ("chart/charts/redis-1.0.0.tgz", ""),
            ("base/kustomization.yml", ""),
            ("x/a.yaml.gotmpl", ""),
            ("x/b.tmpl", ""),
        ],
    );
    let (files, walk) = tree.found("", Ignore::Git);
    assert_eq!(
        files,
        [
            "base/kustomization.yml",
            "chart/Chart.yaml",
            "chart/charts/redis-1.0.0.tgz",
            "chart/templates/_b.tpl",
            "chart/templates/a.yaml",
            "x/a.yaml.gotmpl"
        ]
    );
    let in_chart: Vec<bool> = walk.files.iter().map(|file| file.hint.in_chart).collect();
    assert_eq!(in_chart, [false, false, true, true, true, false]);
    assert_eq!((walk.charts.len(), walk.kustomizations.len()), (1, 1));
    assert!(tree.found("chart/templates", Ignore::Git).1.files[0].hint.in_chart);
}

#[test]
fn packed_charts_are_read_as_if_they_were_unpacked() {
    let old = b"apiVersion: batch/v1beta1\nkind: CronJob\nmetadata: {name: {{ .Release.Name }}}\n";
    let plain = b"apiVersion: policy/v1beta1\nkind: PodDisruptionBudget\nmetadata: {name: a}\n";
    let inner = archive::tests::packed(&[("db/templates/job.yaml", old), ("db/README.md", plain)]);
    let outer = archive::tests::packed(&[
        ("web/Chart.yaml", b"name: web\n"),
        ("web/crds/a.yaml", plain),
        ("web/charts/db-1.0.tgz", &inner),
        ("web/latin.yaml", b"\xff"),
    ]);
    let tree = Tree::new("packed", &[("chart/charts/x.yaml", "")]);
    fs::write(tree.0.join("chart/charts/web-1.0.tgz"), outer).unwrap();
    let (_, walk) = tree.found("", Ignore::Git);
    let report = scan_files(&crate::scan::tests::measure("1.30"), &walk.files, 1, &|| ());
    let root = format!("{}/chart/charts/web-1.0.tgz/web", tree.0.display());
    let mut found: Vec<&str> = report.findings.iter().map(|of| &*of.place.source).collect();
    found.sort_unstable();
    assert_eq!(
        found,
        [format!("{root}/charts/db-1.0.tgz/db/templates/job.yaml"), format!("{root}/crds/a.yaml")]
    );
    let [unread] = &report.unread[..] else { panic!("{:?}", report.unread) };
    assert_eq!(&*unread.place.source, format!("{root}/latin.yaml"));
}

#[test]
fn what_is_found_does_not_depend_on_threads() {
    let manifest = "apiVersion: batch/v1beta1\nkind: CronJob\nmetadata: {name: a}\n";
    let files: Vec<(String, &str)> = (0..20).map(|n| (format!("d{}/{n}.yaml", n % 3), manifest)).collect();
    let borrowed: Vec<(&str, &str)> = files.iter().map(|(name, text)| (&**name, *text)).collect();
    let tree = Tree::new("threads", &borrowed);
    let (_, walk) = tree.found("", Ignore::Git);
    let measure = crate::scan::tests::measure("1.30");
    let one = scan_files(&measure, &walk.files, 1, &|| ());
    assert_eq!(one.findings.len(), 20);
    assert_eq!(one, scan_files(&measure, &walk.files, 4, &|| ()));
}

#[test]
fn a_link_to_its_own_parent_is_followed_once() {
    let tree = Tree::new("links", &[("a/b.yaml", "")]);
    #[cfg(unix)]
    std::os::unix::fs::symlink(&tree.0, tree.0.join("a/up")).unwrap();
    assert_eq!(tree.found("", Ignore::Git).0, ["a/b.yaml"]);
}

#[test]
fn text_is_told_by_its_first_bytes() {
    let text = |bytes: &[u8]| from_bytes(bytes.to_vec()).map(|decoded| decoded.text);
    assert_eq!(text(&[0xff, 0xfe, b'a', 0, b'b', 0]), Ok("ab".into()));
    assert_eq!(text(b"ab"), Ok("ab".into()));
    assert!(text(&[b'a', 0xc3, 0]).unwrap_err().contains("byte 1"));
    assert!(from_bytes(vec![0x1f, 0x8b, 0]).unwrap_err().contains("gzip"));
}

/// Windows-1252: a comment in it hides nothing. Data that is not text is reported.
#[test]
fn bytes_of_another_encoding_hide_nothing() {
    let decoded = from_bytes(
        b"# caf\xe9\n---\napiVersion: batch/v1beta1\nkind: CronJob\nmetadata: {name: f\xfcr}\n".to_vec(),
    )
    .unwrap();
    assert_eq!(decoded.wrong.as_ref().map(|wrong| wrong.line), Some(1));
    let report =
        scan_decoded(&crate::scan::tests::measure("1.36"), &Arc::from("x.yaml"), &decoded, &Hint::default());
    let found: Vec<(u32, &str)> =
        report.findings.iter().map(|finding| (finding.place.line, &*finding.name)).collect();
    assert_eq!(found, [(3, "f\u{fffd}r")]);
    assert_eq!(report.unread.len(), 1);
    assert!(report.unread[0].why.starts_with("invalid UTF-8 at byte 5"), "{:?}", report.unread);
    assert!(from_bytes(b"\x7fELF\x00\xff\xff".to_vec()).is_err());
    assert_eq!(from_bytes("ü".into()), Ok(Decoded { text: "ü".to_owned(), wrong: None }));
}
