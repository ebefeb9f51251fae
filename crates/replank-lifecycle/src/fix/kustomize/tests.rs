use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{Scanned, fix_kustomized, kustomized};
use crate::finding::Range;
use crate::fix::{Fixed, Head, fix};
use crate::judge::Measure;
use crate::release::Release;
use crate::scan::Hint;
use crate::schema::Schema;
use crate::table::Table;

struct Everything;

impl Scanned for Everything {
    fn is_concerned(&self, _: &Path) -> bool {
        true
    }

    fn is_written(&self, _: &Path) -> bool {
        true
    }

    fn heads(&self, _: &Path) -> Option<&[Head]> {
        None
    }

    fn lets_be(&self, _: &Path, _: u32) -> bool {
        false
    }
}

/// A directory that goes with the test.
struct Tree(PathBuf);

impl Drop for Tree {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.0));
    }
}

impl Tree {
    fn of(name: &str, files: &[(&str, &str)]) -> Self {
        let root = std::env::temp_dir().join(format!("replank-kustomize-{name}-{}", std::process::id()));
        drop(std::fs::remove_dir_all(&root));
        for (file, text) in files {
            let path = root.join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        Self(root.canonicalize().unwrap())
    }

    /// All files of the tree fixed, as `--fix` does.
    fn fixed(&self, layers: &[&str], files: &[&str]) -> Vec<Fixed> {
        let range = Range { current: None, target: Release::minor(1, 36) };
        let measure = Measure { table: Table::embedded(), range, products: [].into() };
        let schema = Schema::embedded();
        let layers: Vec<PathBuf> = layers.iter().map(|layer| self.0.join(layer)).collect();
        let decided = kustomized(&measure, &schema, &layers, &Everything);
        let one = |file: &&str| {
            let path = self.0.join(file);
            let text = std::fs::read_to_string(&path).unwrap();
            let name: Arc<str> = Arc::from(*file);
            if decided.decides(&path) {
                fix_kustomized(&measure, &decided, &path, &name, &text)
            } else {
                fix(&measure, &schema, &name, &text, &Hint::default(), &|_| false)
            }
        };
        files.iter().map(one).collect()
    }
}

const DEPLOYMENT: &str = "apiVersion: extensions/v1beta1\nkind: Deployment\nmetadata:\n  name: web\nspec:\n  template:\n    metadata:\n      labels:\n        app: web\n    spec:\n      containers:\n      - name: web\n        image: web:1\n";
const PATCH: &str = "apiVersion: extensions/v1beta1\nkind: Deployment\nmetadata:\n  name: web\nspec:\n  replicas: 3\n  template:\n    metadata:\n      labels:\n        tier: front\n";

#[test]
fn a_patch_gets_the_version_of_its_object_and_no_selector() {
    let tree = Tree::of(
        "patch",
        &[
            ("base/kustomization.yaml", "resources: [web.yaml]\n"),
            ("base/web.yaml", DEPLOYMENT),
            (
                "over/kustomization.yaml",
                "resources: [../base]\npatches:\n- path: more.yaml\n- target: {group: extensions, version: v1beta1, kind: Deployment}\n  patch: |-\n    - {op: add, path: /spec/paused, value: true}\n- patch: |-\n    apiVersion: extensions/v1beta1 # old\n    kind: Deployment\n    metadata: {name: web}\n    spec: {minReadySeconds: 3}\nvars:\n- name: A\n  objref: {apiVersion: extensions/v1beta1, kind: Deployment, name: web}\nreplacements:\n- source: {group: extensions, version: v1beta1, kind: Deployment, name: web}\n  targets: []\n",
            ),
            (
                "over/more.yaml",
                &PATCH.replace("\n  template:\n    metadata:\n      labels:\n        tier: front", ""),
            ),
        ],
    );
    let [base, patch, layer] =
        &tree.fixed(&["over"], &["base/web.yaml", "over/more.yaml", "over/kustomization.yaml"])[..]
    else {
        panic!()
    };
    assert!(
        base.text.starts_with("apiVersion: apps/v1\n") && base.text.contains("matchLabels"),
        "{}",
        base.text
    );
    assert!(
        patch.text.starts_with("apiVersion: apps/v1\n") && !patch.text.contains("selector"),
        "{}",
        patch.text
    );
    assert!(
        !layer.text.contains("extensions") && layer.text.contains("apiVersion: apps/v1 # old"),
        "{}",
        layer.text
    );
    assert_eq!(layer.changes.len(), 4, "{:?}", layer.changes);
}

#[test]
fn what_would_come_out_otherwise_is_left_as_a_whole() {
    // With the patch the template has another label, and so has the selector that it would get.
    for (name, layer, patch) in [
        ("labels", "resources: [web.yaml]\npatchesStrategicMerge: [more.yaml]\n", PATCH),
        ("common", "resources: [web.yaml]\ncommonLabels: {team: a}\n", ""),
        ("pairs", "resources: [web.yaml]\nlabels: [{pairs: {team: a}}]\n", ""),
        ("gone", "resources: [web.yaml]\npatchesStrategicMerge: [nowhere.yaml]\n", ""),
    ] {
        let tree =
            Tree::of(name, &[("kustomization.yaml", layer), ("web.yaml", DEPLOYMENT), ("more.yaml", patch)]);
        let fixed = tree.fixed(&[""], &["web.yaml"]);
        assert_eq!(fixed[0].text, DEPLOYMENT, "{name}");
        assert_eq!(fixed[0].left.len(), 1, "{name}");
        assert!(fixed[0].left[0].why.to_string().contains("left as a whole"), "{:?}", fixed[0].left);
    }
}

#[test]
fn a_patch_without_its_object_stays() {
    let tree = Tree::of(
        "remote",
        &[
            ("kustomization.yaml", "resources: [https://example.com/base]\npatches: [{path: more.yaml}]\n"),
            ("more.yaml", PATCH),
        ],
    );
    let fixed = tree.fixed(&[""], &["more.yaml"]);
    assert_eq!(fixed[0].text, PATCH);
    assert_eq!(fixed[0].left.len(), 1);
}

#[test]
fn a_patch_of_fields_that_move_is_left_with_its_base() {
    let ingress = "apiVersion: networking.k8s.io/v1beta1\nkind: Ingress\nmetadata: {name: a}\nspec:\n  backend: {serviceName: a, servicePort: 80}\n";
    let patch = "apiVersion: networking.k8s.io/v1beta1\nkind: Ingress\nmetadata: {name: a}\nspec:\n  backend: {servicePort: 81}\n";
    let tree = Tree::of(
        "ingress",
        &[
            ("kustomization.yaml", "resources: [a.yaml]\npatches: [{path: b.yaml}]\n"),
            ("a.yaml", ingress),
            ("b.yaml", patch),
        ],
    );
    let fixed = tree.fixed(&[""], &["a.yaml", "b.yaml"]);
    assert_eq!((&*fixed[0].text, &*fixed[1].text), (ingress, patch));
}

#[test]
fn a_target_that_would_mean_more_than_before_leaves_all() {
    let tree = Tree::of(
        "more",
        &[
            (
                "kustomization.yaml",
                "resources: [web.yaml]\npatches:\n- target: {version: v1, kind: Deployment}\n  patch: '[{op: add, path: /spec/paused, value: true}]'\n",
            ),
            (
                "web.yaml",
                &format!(
                    "{DEPLOYMENT}---\n{}",
                    DEPLOYMENT
                        .replace("extensions/v1beta1", "apps/v1")
                        .replace("name: web\nspec:", "name: other\nspec:")
                ),
            ),
        ],
    );
    let fixed = tree.fixed(&[""], &["web.yaml"]);
    assert!(
        fixed[0].changes.is_empty() && fixed[0].left.len() == 1,
        "{:?} {:?}",
        fixed[0].changes,
        fixed[0].left
    );
}
