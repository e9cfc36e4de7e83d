module pigrep

go 1.26
