# Answers each line with a number of every kind.
require 'openssl'
$stdout.sync = true
instance = Random.new
draw = -> { "rand=#{rand} Random.new=#{instance.rand} openssl=#{OpenSSL::Random.random_bytes(8).unpack1('H*')}" }
draw.call
puts draw.call while $stdin.gets
