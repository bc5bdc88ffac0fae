//! The ledger as closes read it.

use futures::FutureExt;
use futures::future::BoxFuture;
use muster_core::Error;
use muster_governance::financials::{DayBooks, LedgerDays, LedgerRow};
use muster_limits::ledger::{Day, Ledger, UsageRow};

pub(super) struct Books(pub(super) Ledger);

impl LedgerDays for Books {
    fn day(&self, day: u32) -> BoxFuture<'_, Result<DayBooks, Error>> {
        async move {
            let day = self.0.day(Day(day)).await?;
            Ok(DayBooks { rows: day.rows.into_iter().map(row).collect(), settled: day.settled })
        }
        .boxed()
    }

    fn first(&self) -> BoxFuture<'_, Result<Option<u32>, Error>> {
        async move { Ok(self.0.first_day().await?.map(|day| day.0)) }.boxed()
    }
}

fn row(UsageRow { subject, model_id, row, .. }: UsageRow) -> LedgerRow {
    LedgerRow {
        key: subject,
        model: model_id,
        requests: row.requests,
        cost_nanos: row.cost_nanos,
        unsettled_nanos: row.unsettled_nanos,
    }
}
