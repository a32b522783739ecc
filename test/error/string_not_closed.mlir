// error: this string is not closed on its line @2:26
module attributes {a.b = "open} {
}
