//! Fills a data folder with devices and incidents through the server's own actors, and prints how
//! long a start on it takes until every part is ready.
//!
//! `cargo run --release --example fill_store -- DATA_DIR DEVICES INCIDENTS` prints one JSON line:
//! `{"devices":…,"incidents":…,"filled_s":…,"start_s":[…]}`. Existing records count: only missing ones are created.

use std::error::Error;
use std::process::ExitCode;
use std::time::Instant;

use futures::{StreamExt, TryStreamExt};
use muster::app::{App, InitialCredentials};
use muster::config::{self, Source};
use muster_core::page::PageParams;
use muster_geo::{Geometry, Point};
use muster_identity::By;
use muster_network::device::{Description, DeviceFilter, DeviceKind, NewDevice};
use muster_network::incident::{IncidentEdit, IncidentFilter, IncidentKind, NewReport};
use serde_json::json;

type Outcome<T> = Result<T, Box<dyn Error>>;

/// Records created concurrently: as many as the actors write in a few group commits.
const AT_ONCE: usize = 512;
/// How often a start is measured.
const STARTS: usize = 3;

fn main() -> ExitCode {
    let mut args = std::env::args().skip(1);
    let (Some(folder), devices, incidents) = (args.next(), args.next(), args.next()) else {
        eprintln!("fill_store DATA_DIR [DEVICES [INCIDENTS]]");
        return ExitCode::from(2);
    };
    let count = |arg: Option<String>, default| arg.map_or(Ok(default), |text| text.parse::<usize>());
    let done = count(devices, 100_000)
        .and_then(|devices| Ok((devices, count(incidents, 10_000)?)))
        .map_err(Into::into)
        .and_then(|(devices, incidents)| actix_rt::System::new().block_on(run(&folder, devices, incidents)));
    match done {
        Ok(message) => println!("{message}"),
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

async fn start(folder: &str) -> Outcome<App> {
    let mut config = config::parse("[llm]\nmodel = \"none\"\n", "fill_store", std::iter::empty())?;
    config.store.path = folder.into();
    let source = Source::fixed(&config);
    Ok(Box::pin(App::start(config, source, InitialCredentials::default())).await?)
}

async fn run(folder: &str, devices: usize, incidents: usize) -> Outcome<serde_json::Value> {
    let app = start(folder).await?;
    let begun = Instant::now();
    fill_devices(&app, devices).await?;
    fill_incidents(&app, incidents).await?;
    let filled = begun.elapsed().as_secs_f64();
    app.stop().await;
    drop(app);
    let mut starts = Vec::new();
    for _ in 0..STARTS {
        let begun = Instant::now();
        let app = start(folder).await?;
        starts.push(begun.elapsed().as_secs_f64());
        app.stop().await;
    }
    Ok(json!({ "devices": devices, "incidents": incidents, "filled_s": filled, "start_s": starts }))
}

/// A position on land or sea, spread evenly by the golden ratio.
fn place(number: usize) -> Point {
    let share = |factor: f64| (number as f64 * factor).fract();
    Point::new(share(0.618_033_988_749_895) * 360.0 - 180.0, share(0.754_877_666_246_693) * 170.0 - 85.0)
}

async fn fill_devices(app: &App, wanted: usize) -> Outcome<()> {
    let mut there = 0;
    let mut page = PageParams { limit: 200, after: None };
    loop {
        let found = app.devices.list(DeviceFilter::default(), page.clone()).await?;
        there += found.items.len();
        page.after = found.next;
        if page.after.is_none() {
            break;
        }
    }
    let made = futures::stream::iter(there..wanted.max(there)).map(|number| {
        let description = Description {
            location: Some(place(number)),
            tags: vec![format!("area-{}", number % 100)],
            groups: vec![format!("group-{}", number % 10)],
            ..Description::default()
        };
        let name = format!("Sensor {number}");
        let new = NewDevice { name, kind: DeviceKind::Sensor, description, public_key: None };
        app.devices.register(new, By::System, None)
    });
    made.buffer_unordered(AT_ONCE).try_for_each(|_| async { Ok(()) }).await?;
    Ok(())
}

async fn fill_incidents(app: &App, wanted: usize) -> Outcome<()> {
    let mut there = 0;
    let mut page = PageParams { limit: 200, after: None };
    loop {
        let found = app.incidents.list(By::System, IncidentFilter::default(), page.clone()).await?;
        there += found.items.len();
        page.after = found.next;
        if page.after.is_none() {
            break;
        }
    }
    let made = futures::stream::iter(there..wanted.max(there)).map(|number| {
        let fields = IncidentEdit {
            title: Some(format!("Incident {number}")),
            kind: Some(IncidentKind::Flood),
            summary: Some("The water stands at the quay, and is still rising.".to_owned()),
            geometry: Some(Some(Geometry::Point(place(number)))),
            ..IncidentEdit::default()
        };
        app.incidents.report(By::System, None, NewReport { fields, ..NewReport::default() })
    });
    made.buffer_unordered(AT_ONCE).try_for_each(|_| async { Ok(()) }).await?;
    Ok(())
}
