//! How the shared library is linked.

fn main() {
    let arguments = ["-soname,wellspring.so", "-z,nodelete", "-z,now", "-z,relro"];
    for argument in arguments {
        println!("cargo::rustc-cdylib-link-arg=-Wl,{argument}");
    }
    println!("cargo::rerun-if-changed=build.rs");
}
