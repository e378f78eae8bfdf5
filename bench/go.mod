module github.com/hapaxkv/hapax/bench

go 1.26.0
