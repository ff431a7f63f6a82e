//! Sources that fail, as an operator sees them. The test says what its source does, and makes each draw itself: nothing
//! here depends on time or load, but for the draw that hangs, for which it waits.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use wellspring::{Engine, MinEntropy, Source, SourceError};
use wellspring_service::metrics::metrics;
use wellspring_service::sockets::document;
use wellspring_service::status::{self, SourceWatch};
use wellspring_service_core::config::LimitsSection;
use wellspring_service_core::doors::Doors;
use wellspring_service_core::reseeder::Reseeder;
use wellspring_service_core::state::{Page, State};
use wellspring_service_core::users::Users;

const WORKS: u32 = 0;
const FAILS: u32 = 1;
const YIELDS_NOTHING: u32 = 2;
const IS_STUCK: u32 = 3;
const HANGS: u32 = 4;

/// A source that does what the test says.
struct Driven {
    does: Arc<AtomicU32>,
    ends: Mutex<Receiver<()>>,
}

impl Source for Driven {
    fn name(&self) -> &'static str {
        "driven"
    }

    fn min_entropy(&self) -> MinEntropy {
        MinEntropy::per_byte_256ths(256)
    }

    fn sample(&self, destination: &mut [u8]) -> Result<usize, SourceError> {
        match self.does.load(Ordering::Relaxed) {
            FAILS => return Err(SourceError::System(5)),
            YIELDS_NOTHING => return Ok(0),
            IS_STUCK => destination.fill(7),
            does => {
                if does == HANGS {
                    let _ = self.ends.lock().unwrap().recv();
                }
                wellspring::try_fill(destination).unwrap();
            }
        }
        Ok(destination.len())
    }
}

struct Driver {
    state: State,
    does: Arc<AtomicU32>,
    end: Sender<()>,
}

impl Driver {
    /// An engine with a source that does this from the start.
    fn new(does: u32) -> Self {
        let does = Arc::new(AtomicU32::new(does));
        let (end, ends) = channel();
        let driven = Driven {
            does: does.clone(),
            ends: Mutex::new(ends),
        };
        let sources: [Arc<dyn Source>; 1] = [Arc::new(driven)];
        let engine = Engine::builder().sources(sources).seed(&[7; 32]).build();
        let users = Users::new(&LimitsSection::default());
        let state = State::new(
            engine.unwrap(),
            Reseeder::default(),
            Page::without_file(),
            Doors::default(),
            users,
        );
        Self { state, does, end }
    }

    fn does(&self, what: u32) {
        self.does.store(what, Ordering::Relaxed);
    }

    /// Draws on the source.
    fn draw(&self) {
        let _ = self.state.engine.reseed();
    }

    /// Fails unless status, page and metrics all show this state, and the status has a problem with these words.
    fn shows(&self, name: &str, problem: Option<&str>) {
        let status = status::json(&self.state);
        assert_eq!(status["sources"][0]["state"], name, "{status}");
        let problems = status::problems(&self.state);
        let found = problems.iter().find(|line| line.contains("driven"));
        match problem {
            None => assert_eq!(found, None),
            Some(words) => assert!(found.is_some_and(|line| line.contains(words)), "{found:?}"),
        }
        let metrics = metrics(&self.state);
        let line = format!("wellspring_source_state{{source=\"driven\",state=\"{name}\"}} 1\n");
        assert!(metrics.contains(&line), "{metrics}");
        let document = |path| {
            let document = document(&self.state, path).unwrap();
            String::from_utf8(document.body).unwrap()
        };
        let text = document("/status.txt");
        let row = text.lines().find(|line| line.starts_with("driven "));
        let shown = row.and_then(|row| row.split_whitespace().nth(1));
        assert_eq!(shown, Some(name), "{text}");
        let (page, row) = (document("/"), format!("<td>driven</td><td>{name}</td>"));
        assert!(page.contains(&row), "{page}");
    }

    fn look(&self, watch: &mut SourceWatch) -> Vec<(bool, String)> {
        watch.changes(&self.state.engine.stats().sources)
    }
}

#[test]
fn a_source_that_was_silent_before_the_first_look_is_found_by_it_and_its_recovery_too() {
    for (does, words) in [(FAILS, "error 5"), (YIELDS_NOTHING, "it returns no byte")] {
        let driver = Driver::new(does);
        (0..16).for_each(|_| driver.draw());
        driver.shows("silent", Some(words));
        let mut watch = SourceWatch::default();
        let said = driver.look(&mut watch);
        assert!(
            matches!(&said[..], [(true, line)] if line.contains("silent")),
            "{said:?}"
        );
        assert!(driver.look(&mut watch).is_empty(), "told twice");
        driver.does(WORKS);
        driver.draw();
        driver.shows("working", None);
        let said = driver.look(&mut watch);
        let expected = "The source driven is working, it was silent.";
        assert_eq!(said, [(false, expected.to_owned())]);
    }
}

#[test]
fn a_source_that_repeats_a_byte_is_quarantined_and_shown_after_one_draw() {
    let driver = Driver::new(WORKS);
    driver.draw();
    driver.shows("working", None);
    let mut watch = SourceWatch::default();
    assert!(driver.look(&mut watch).is_empty());
    driver.does(IS_STUCK);
    driver.draw();
    let state = status::json(&driver.state)["sources"][0]["state"].clone();
    assert!(state == "quarantined" || state == "disabled", "{state}");
    driver.shows(state.as_str().unwrap(), Some("health test"));
    assert!(matches!(&driver.look(&mut watch)[..], [(true, _)]));
}

#[test]
fn a_draw_that_does_not_end_is_shown_while_it_hangs() {
    let driver = Driver::new(HANGS);
    std::thread::scope(|scope| {
        scope.spawn(|| driver.draw());
        let until = Instant::now() + Duration::from_secs(60);
        while !status::problems(&driver.state)
            .iter()
            .any(|line| line.contains("driven hangs"))
        {
            assert!(
                Instant::now() < until,
                "{:?}",
                status::problems(&driver.state)
            );
            std::thread::sleep(Duration::from_millis(20));
        }
        driver.shows("hanging", Some("a draw has not ended for"));
        driver.does(WORKS);
        driver.end.send(()).unwrap();
    });
    driver.shows("working", None);
}

#[test]
fn what_outsiders_mixed_in_and_the_engine_dropped_is_shown_apart_from_samples() {
    let driver = Driver::new(WORKS);
    while driver.state.engine.stats().mixes_dropped == 0 {
        driver.state.engine.mix(&[7; 4096]);
    }
    let status = status::json(&driver.state);
    let dropped = driver.state.engine.stats().mixes_dropped;
    assert_eq!(status["dropped_mixes"], dropped);
    assert_eq!(status["dropped_events"], 0);
    let line = format!("wellspring_dropped_mixes_total {dropped}\n");
    assert!(metrics(&driver.state).contains(&line));
}

/// The names of metrics in an expression.
fn metric_names(expression: &str) -> impl Iterator<Item = &str> {
    let is_of_name = |character: char| character.is_ascii_alphanumeric() || character == '_';
    let words = expression.split(move |character| !is_of_name(character));
    words.filter(|word| word.starts_with("wellspring_"))
}

/// Fails if an expression names no metric, or a metric that the service does not have. Returns the number of names.
fn check_expressions<'a>(expressions: impl IntoIterator<Item = &'a str>) -> usize {
    let metrics = metrics(&Driver::new(WORKS).state);
    let exists = |name: &str| {
        let base = ["_bucket", "_count", "_sum"]
            .iter()
            .find_map(|end| name.strip_suffix(end));
        metrics.contains(&format!("# TYPE {name} "))
            || base.is_some_and(|base| metrics.contains(&format!("# TYPE {base} histogram\n")))
    };
    let mut seen = 0;
    for expression in expressions {
        for name in metric_names(expression) {
            assert!(exists(name), "{expression}: there is no {name}");
            seen += 1;
        }
    }
    seen
}

#[test]
fn every_metric_has_its_help() {
    let metrics = metrics(&Driver::new(WORKS).state);
    let is_without = |line: &&str| line.starts_with("# HELP") && line.ends_with(' ');
    assert_eq!(metrics.lines().find(is_without), None);
}

#[test]
fn every_expression_of_the_dashboard_names_metrics_that_exist() {
    let text = include_str!("../../../../packaging/grafana/wellspringd.json");
    let dashboard: serde_json::Value = serde_json::from_str(text).unwrap();
    let panels = dashboard["panels"].as_array().unwrap();
    let targets = panels
        .iter()
        .filter_map(|panel| panel["targets"].as_array());
    let expressions: Vec<&str> = targets
        .flatten()
        .map(|target| target["expr"].as_str().unwrap())
        .collect();
    for expression in &expressions {
        assert!(metric_names(expression).next().is_some(), "{expression}");
    }
    let seen = check_expressions(expressions);
    assert!(seen >= 15, "{seen}");
    check_expressions([&*dashboard["templating"]["list"].to_string()]);
}

#[test]
fn every_alert_names_metrics_that_exist() {
    let rules = include_str!("../../../../packaging/prometheus/wellspringd.rules.yml");
    let lines = rules.lines().map(str::trim_start);
    let expressions = lines.filter_map(|line| line.strip_prefix("expr: "));
    // `up` is Prometheus's own, and the job has the name of the service.
    let expressions = expressions.filter(|expression| !expression.starts_with("up{"));
    assert_eq!(check_expressions(expressions), 8);
}
