"""Files and the bytes in them: what every stage that touches a disk builds on."""
