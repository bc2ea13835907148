//! Tells the bindings which Python they are built for: `cfg(Py_GIL_DISABLED)` is one without a GIL.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    pyo3_build_config::use_pyo3_cfgs();
}
