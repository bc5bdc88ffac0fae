//! The disaster network: starts the actors of devices, incidents with their alerts, geofences and firmware.

mod commands;

use std::sync::Arc;

use actix_rt::ArbiterHandle;
use muster_core::Clock;
use muster_core::guard::StandingReader;
use muster_core::supervise::Tree;
use muster_feed::Feed;
use muster_identity::Independence;
use muster_network::device::{DeviceOptions, Devices};
use muster_network::firmware::{FirmwareOptions, Firmwares};
use muster_network::geofence::{GeofenceOptions, Geofences};
use muster_network::incident::{CriticalIncidents, IncidentOptions, Incidents};
use muster_store::StoreHandle;

use crate::app::{StartError, failed};
use crate::config::Config;

pub(crate) use commands::{DisasterCommands, described_commands};

/// The disaster network as handlers and sockets use it.
#[derive(Debug, Clone)]
pub(crate) struct Disaster {
    pub(crate) devices: Devices,
    pub(crate) incidents: Incidents,
    pub(crate) geofences: Geofences,
    pub(crate) firmware: Firmwares,
}

/// What the disaster network needs from the server.
pub(crate) struct Dependencies<'a> {
    pub(crate) tree: &'a Tree,
    /// Devices, which receive the most messages, run on the second arbiter.
    pub(crate) arbiters: [ArbiterHandle; 2],
    pub(crate) store: &'a StoreHandle,
    pub(crate) clock: &'a Clock,
    pub(crate) feed: &'a Feed,
    /// By which guarded commands are decided.
    pub(crate) standing: &'a StandingReader,
    /// Whether a second person is independent of the first.
    pub(crate) independence: &'a Independence,
    /// What critical incidents are about, for the rules of governance.
    pub(crate) critical: &'a CriticalIncidents,
}

impl Disaster {
    /// # Errors
    /// The folder of firmware images cannot be created.
    pub(crate) fn start(config: &Config, dependencies: &Dependencies<'_>) -> Result<Self, StartError> {
        let Dependencies { tree, arbiters: [one, other], store, clock, feed, standing, independence, critical } =
            dependencies;
        let publisher = || feed.publisher();
        let fences = GeofenceOptions { store: Arc::clone(store), clock: (*clock).clone(), publisher: publisher() };
        let geofences = Geofences::start(&tree.group("geofences"), one.clone(), fences);
        let options = IncidentOptions {
            store: Arc::clone(store),
            clock: (*clock).clone(),
            publisher: publisher(),
            location_observer: Some(Arc::new(geofences.clone())),
            independence: (*independence).clone(),
            standing: (*standing).clone(),
            critical: (*critical).clone(),
            settings: config.incidents.settings(),
        };
        let incidents = Incidents::start(&tree.group("disaster"), one.clone(), options);
        let options = DeviceOptions {
            store: Arc::clone(store),
            clock: (*clock).clone(),
            publisher: publisher(),
            rules: config.devices.rules(),
            location_observer: Some(Arc::new(geofences.clone())),
        };
        let devices = Devices::start(&tree.group("devices"), other.clone(), options);
        let options = FirmwareOptions {
            store: Arc::clone(store),
            clock: (*clock).clone(),
            publisher: publisher(),
            devices: Arc::new(devices.clone()),
            folder: config.store.path.join("firmware"),
            standing: (*standing).clone(),
            independence: (*independence).clone(),
            critical: (*critical).clone(),
            rules: config.firmware.rules(),
            trusted_keys: config.firmware.trusted_keys.clone(),
        };
        let firmware = Firmwares::start(&tree.group("firmware"), one.clone(), options)
            .map_err(|error| failed("firmware")(&error))?;

        // A subscriber that cannot resume gets a snapshot from the feature that owns the state.
        feed.register_source("incidents", Arc::new(incidents.clone()));
        feed.register_source("alerts", Arc::new(incidents.clone()));
        feed.register_source("devices", Arc::new(devices.clone()));
        feed.register_source("firmware", Arc::new(firmware.clone()));
        Ok(Self { devices, incidents, geofences, firmware })
    }

    /// Waits until all actors have read their state.
    pub(crate) async fn up(&self) {
        tokio::join!(self.devices.up(), self.incidents.up(), self.geofences.up(), self.firmware.up());
    }
}
