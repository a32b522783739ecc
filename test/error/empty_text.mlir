// error: this text has no function @3:1

