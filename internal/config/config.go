// Package config reads redis.conf syntax, flags and environment.
package config
