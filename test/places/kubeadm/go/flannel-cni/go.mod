// The CNI plugin `flannel`. The registry does not serve the module flannel-io/cni-plugin: this is its predecessor, of the last version of the
// CNI plugins that had it, with a library that knows the version 1.0.0 of the configuration that Flannel's chart writes.
// `go mod tidy` needs `-e`, because that library has no more what the plugin imports on Windows.
module taintkeeper.dev/test/places/kubeadm/flannel-cni

go 1.26

tool github.com/containernetworking/plugins/plugins/meta/flannel

require (
	github.com/Microsoft/go-winio v0.4.11 // indirect
	github.com/Microsoft/hcsshim v0.8.6 // indirect
	github.com/buger/jsonparser v0.0.0-20180808090653-f4dd9f5a6b44 // indirect
	github.com/containernetworking/cni v1.3.0 // indirect
	github.com/containernetworking/plugins v0.9.1 // indirect
	github.com/sirupsen/logrus v1.0.6 // indirect
	github.com/vishvananda/netns v0.0.4 // indirect
	golang.org/x/crypto v0.0.0-20200622213623-75b288015ac9 // indirect
	golang.org/x/sys v0.23.0 // indirect
)
