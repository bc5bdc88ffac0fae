//! Engines of the family stats. Statistics & time series: q83 to q104.

#![warn(missing_docs)]

mod anomaly_detect;
mod autocorrelation;
mod change_point;
mod cluster_table;
mod clustering;
mod compare_groups;
mod contingency_test;
mod control_chart;
mod control_rules;
mod correlation;
mod describe;
mod design;
mod distribution_fit;
mod forecast;
mod forecast_models;
mod formula;
mod group_tests;
mod kalman;
mod kalman_track;
mod labels;
mod linear_regression;
mod logistic_regression;
mod model_metrics;
mod principal_components;
mod ranking;
mod sample_size;
mod seasonal_indices;
mod series_decompose;
mod shapiro;
mod smoothing;
mod spectrum;
mod stationarity;
mod support;
mod survival_analysis;
mod theta;
mod trend_test;
mod uncertainty_propagate;

muster_engine::family!("stats";
    83 describe,
    84 compare_groups,
    85 contingency_test,
    86 correlation,
    87 linear_regression,
    88 logistic_regression,
    89 distribution_fit,
    90 sample_size,
    91 model_metrics,
    92 series_decompose,
    93 forecast,
    94 anomaly_detect,
    95 change_point,
    96 control_chart,
    97 trend_test,
    98 spectrum,
    99 autocorrelation,
    100 kalman_track,
    101 cluster_table,
    102 principal_components,
    103 survival_analysis,
    104 uncertainty_propagate,
);
