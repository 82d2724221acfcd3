//! Names the shared library as it is installed.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let part = |name: &str| std::env::var(format!("CARGO_PKG_VERSION_{name}")).unwrap_or_default();
    // The part of the version whose change breaks programs: 0.1, 0.2, .., 1, 2.
    let compatible = match part("MAJOR").as_str() {
        "0" => format!("0.{}", part("MINOR")),
        major => major.to_owned(),
    };
    // Threads of rayon outlive every call, so the library stays loaded. On Windows, src/pin.rs does the same.
    match std::env::var("CARGO_CFG_TARGET_OS").as_deref() {
        Ok("linux") => {
            println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libmeshmap.so.{compatible}");
            println!("cargo::rustc-cdylib-link-arg=-Wl,-z,nodelete");
        }
        Ok("macos") => {
            println!(
                "cargo::rustc-cdylib-link-arg=-Wl,-install_name,@rpath/libmeshmap.{compatible}.dylib"
            );
        }
        _ => {}
    }
}
