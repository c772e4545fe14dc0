from benchmarks.peers.comparison import main

main()
