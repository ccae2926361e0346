"""Every operation that the simulator serves, called by Tencent's own SDK.

ENDPOINT is its host and port, CA the file with the certificate of its authority.
"""

import json
import os
import socket
import ssl
import time
import unittest

from tencentcloud.clb.v20180317 import clb_client, models
from tencentcloud.common import credential
from tencentcloud.common.common_client import CommonClient
from tencentcloud.common.exception.tencent_cloud_sdk_exception import TencentCloudSDKException
from tencentcloud.common.profile.client_profile import ClientProfile
from tencentcloud.common.profile.http_profile import HttpProfile

REGION = "ap-guangzhou"
RUNNING = 2
KEYS = {
    "AKIDALL": "key-of-all",
    "AKIDGUIDE": "key-of-guide",
    "AKIDHOUR": "key-of-hour",
    "AKIDNEW": "key-of-new",
}


def profile():
    http = HttpProfile(endpoint=os.environ["ENDPOINT"], certification=os.environ["CA"], reqTimeout=30)
    return ClientProfile(signMethod="TC3-HMAC-SHA256", httpProfile=http)


def credentials(key, token=None):
    return credential.Credential(key, KEYS[key], token)


class Case(unittest.TestCase):
    key = "AKIDALL"
    lb = "lb-one00001"

    def setUp(self):
        self.client = clb_client.ClbClient(credentials(self.key), REGION, profile())

    def call(self, action, **members):
        request = getattr(models, action + "Request")()
        request.from_json_string(json.dumps(members))
        return getattr(self.client, action)(request)

    def on(self, action, **members):
        return self.call(action, LoadBalancerId=self.lb, **members)

    def wait(self, answer):
        """The status of the answer's task, once it is over."""
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            time.sleep(0.06)  # below the rate limit
            status = self.call("DescribeTaskStatus", TaskId=answer.RequestId)
            if status.Status != RUNNING:
                return status
        self.fail("the task does not end")

    def done(self, action, **members):
        answer = self.on(action, **members)
        self.assertEqual(self.wait(answer).Status, 0)
        return answer

    def refused(self, code, call, *args, **members):
        with self.assertRaises(TencentCloudSDKException) as caught:
            call(*args, **members)
        self.assertEqual(caught.exception.get_code(), code, caught.exception.get_message())
        return caught.exception.get_message()

    def listener(self, port, protocol="TCP", **members):
        return self.done("CreateListener", Ports=[port], Protocol=protocol, **members).ListenerIds[0]

    def shown(self, listener):
        answer = self.on("DescribeListeners", ListenerIds=[listener])
        self.assertEqual(answer.TotalCount, 1)
        return answer.Listeners[0]

    def targets(self, listener):
        return self.on("DescribeTargets", ListenerIds=[listener]).Listeners[0]


class Names(unittest.TestCase):
    """Clients that cannot be given an endpoint are led here by a resolver, under these names."""

    def test_certificate_has_them(self):
        host, port = os.environ["ENDPOINT"].rsplit(":", 1)
        context = ssl.create_default_context(cafile=os.environ["CA"])
        for zone in ("", "internal.", "test."):
            name = f"clb.{zone}tencentcloudapi.com"
            with self.subTest(name), socket.create_connection((host, int(port)), timeout=30) as plain:
                context.wrap_socket(plain, server_hostname=name).close()


class Signatures(Case):
    def test_wrong_key(self):
        wrong = clb_client.ClbClient(credential.Credential("AKIDALL", "wrong"), REGION, profile())
        self.refused("AuthFailure.SignatureFailure", wrong.DescribeQuota, models.DescribeQuotaRequest())

    def test_nobodys_key(self):
        nobody = clb_client.ClbClient(credential.Credential("AKIDNOBODY", "x"), REGION, profile())
        self.refused("AuthFailure.SecretIdNotFound", nobody.DescribeQuota, models.DescribeQuotaRequest())

    def test_temporary_key(self):
        for token, code in (("token-of-hour", None), ("another", "AuthFailure.TokenFailure")):
            client = clb_client.ClbClient(credentials("AKIDHOUR", token), REGION, profile())
            if code is None:
                self.assertTrue(client.DescribeQuota(models.DescribeQuotaRequest()).QuotaSet)
            else:
                self.refused(code, client.DescribeQuota, models.DescribeQuotaRequest())


class LoadBalancers(Case):
    def test_describe(self):
        by_id = self.call("DescribeLoadBalancers", LoadBalancerIds=[self.lb], Forward=1)
        self.assertEqual((by_id.TotalCount, by_id.LoadBalancerSet[0].LoadBalancerName), (1, "rooms"))
        self.assertEqual(by_id.LoadBalancerSet[0].Status, 1)
        self.assertTrue(by_id.LoadBalancerSet[0].LoadBalancerVips)
        by_name = self.call("DescribeLoadBalancers", LoadBalancerName="rooms", Offset=0, Limit=100)
        self.assertEqual([one.LoadBalancerId for one in by_name.LoadBalancerSet], [self.lb])
        by_tag = self.call("DescribeLoadBalancers", Filters=[{"Name": "tag:team", "Values": ["rooms"]}])
        self.assertEqual(by_tag.LoadBalancerSet[0].Tags[0].TagValue, "rooms")
        self.assertEqual(self.call("DescribeLoadBalancers", LoadBalancerIds=["lb-nothere1"]).TotalCount, 0)

    def test_make_change_and_delete(self):
        wanted = dict(LoadBalancerType="OPEN", LoadBalancerName="made", VpcId="vpc-near0001", Number=1,
                      Tags=[{"TagKey": "a", "TagValue": "b"}], ClientToken="sdk-test-1")
        made = self.call("CreateLoadBalancer", **wanted)
        self.lb = made.LoadBalancerIds[0]
        self.assertEqual(self.call("CreateLoadBalancer", **wanted).LoadBalancerIds, [self.lb])
        self.assertEqual(self.wait(made).LoadBalancerIds, [self.lb])
        self.done("ModifyLoadBalancerAttributes", LoadBalancerName="renamed", SnatPro=True)
        self.done("CreateLoadBalancerSnatIps", SnatIps=[{"SubnetId": "subnet-1", "Ip": "10.0.200.1"}])
        shown = self.call("DescribeLoadBalancers", LoadBalancerIds=[self.lb]).LoadBalancerSet[0]
        self.assertEqual((shown.LoadBalancerName, shown.SnatPro, shown.SnatIps[0].Ip),
                         ("renamed", True, "10.0.200.1"))
        # Across regions, now that it translates.
        listener = self.listener(80)
        self.done("BatchRegisterTargets", Targets=[{"ListenerId": listener, "EniIp": "10.2.0.1", "Port": 80}])
        self.assertEqual(self.targets(listener).Targets[0].Type, "CCN")
        self.done("DeleteLoadBalancerSnatIps", Ips=["10.0.200.1"])
        gone = self.call("DeleteLoadBalancer", LoadBalancerIds=[self.lb], ForceDelete=True)
        self.assertEqual(self.wait(gone).Status, 0)
        self.refused("InvalidParameter.LBIdNotFound", self.on, "DescribeListeners")

    def test_quota(self):
        quotas = {one.QuotaId: one.QuotaLimit for one in self.call("DescribeQuota").QuotaSet}
        self.assertEqual(quotas["TOTAL_LISTENER_QUOTA"], 50)


class Listeners(Case):
    def test_several_ports_of_layer_4(self):
        made = self.done("CreateListener", Ports=[31000, 31001], Protocol="TCP", ListenerNames=["a", "b"],
                         HealthCheck={"HealthSwitch": 1, "TimeOut": 3, "IntervalTime": 6, "SourceIpType": 1},
                         SessionExpireTime=60, Scheduler="WRR")
        self.assertEqual(len(made.ListenerIds), 2)
        shown = self.shown(made.ListenerIds[1])
        self.assertEqual((shown.Port, shown.ListenerName, shown.EndPort), (31001, "b", 0))
        self.assertEqual((shown.HealthCheck.TimeOut, shown.HealthCheck.SourceIpType), (3, 1))
        self.assertEqual((shown.SessionExpireTime, shown.Scheduler), (60, "WRR"))
        by_port = self.on("DescribeListeners", Protocol="TCP", Port=31000)
        self.assertEqual(by_port.Listeners[0].ListenerId, made.ListenerIds[0])
        self.refused("InvalidParameter.PortCheckFailed", self.on, "CreateListener", Ports=[31000], Protocol="TCP")
        udp = self.listener(31000, "UDP")
        self.done("ModifyListener", ListenerId=udp, ListenerName="c", Scheduler="LEAST_CONN",
                  HealthCheck={"HealthSwitch": 0})
        self.assertEqual((self.shown(udp).ListenerName, self.shown(udp).HealthCheck.HealthSwitch), ("c", 0))
        self.done("DeleteListener", ListenerId=udp)
        message = self.refused("InvalidParameter", self.on, "DeleteLoadBalancerListeners",
                               ListenerIds=made.ListenerIds + [udp])
        self.assertIn("some ListenerId", message)
        self.done("DeleteLoadBalancerListeners", ListenerIds=made.ListenerIds)
        self.assertEqual(self.on("DescribeListeners", ListenerIds=made.ListenerIds).TotalCount, 0)

    def test_range(self):
        listener = self.listener(40000, "UDP", EndPort=40010)
        self.assertEqual(self.shown(listener).EndPort, 40010)
        self.done("DeleteListener", ListenerId=listener)

    def test_range_needs_the_list(self):
        new = clb_client.ClbClient(credentials("AKIDNEW"), REGION, profile())
        request = models.CreateListenerRequest()
        request.from_json_string(json.dumps(
            dict(LoadBalancerId="lb-new00001", Ports=[1], EndPort=9, Protocol="TCP")))
        self.assertIn("uin not allow to create port range listener",
                      self.refused("FailedOperation", new.CreateListener, request))

    def test_tls(self):
        one_way = {"SSLMode": "UNIDIRECTIONAL", "CertId": "cert-a"}
        mutual = {"SSLMode": "MUTUAL", "CertId": "cert-a", "CertCaId": "cert-ca"}
        ssl = self.listener(41000, "TCP_SSL", Certificate=mutual)
        self.assertEqual(self.shown(ssl).Certificate.CertCaId, "cert-ca")
        quic = self.listener(41000, "QUIC", Certificate=one_way)
        https = self.listener(41001, "HTTPS", Certificate=one_way, KeepaliveEnable=1)
        self.done("ModifyListener", ListenerId=https,
                  MultiCertInfo={"SSLMode": "UNIDIRECTIONAL", "CertList": [{"CertId": "cert-b"}]})
        self.assertEqual(self.shown(https).Certificate.CertId, "cert-b")
        self.refused("InvalidParameterValue", self.on, "CreateListener", Ports=[41002], Protocol="HTTPS",
                     Certificate={"SSLMode": "UNIDIRECTIONAL", "CertId": "cert-nobody"})
        self.done("DeleteLoadBalancerListeners", ListenerIds=[ssl, quic, https])

    def test_parameters(self):
        self.assertIn("Length of `Ports` should be less than 50", self.refused(
            "InvalidParameterValue.Length", self.on, "CreateListener", Protocol="TCP",
            Ports=list(range(1, 51))))
        self.refused("MissingParameter", self.on, "CreateListener", Protocol="TCP")
        self.refused("InvalidParameterValue", self.on, "CreateListener", Protocol="SCTP", Ports=[1])


class Rules(Case):
    def test_http(self):
        listener = self.listener(42000, "HTTP")
        made = self.done("CreateRule", ListenerId=listener, Rules=[
            {"Domain": "a.example.com", "Url": "/", "Scheduler": "IP_HASH",
             "HealthCheck": {"HttpCheckPath": "/ready", "HttpCheckMethod": "GET", "HttpCode": 2}},
            {"Domain": "b.example.com", "Url": "/api", "SessionExpireTime": 300}])
        first, second = made.LocationIds
        rules = {rule.LocationId: rule for rule in self.shown(listener).Rules}
        self.assertEqual((rules[first].Domain, rules[first].HealthCheck.HttpCheckPath), ("a.example.com", "/ready"))
        self.assertEqual((rules[first].DefaultServer, rules[second].DefaultServer), (True, False))
        self.done("ModifyRule", ListenerId=listener, LocationId=second, Url="/v2", Scheduler="LEAST_CONN")
        self.done("RegisterTargets", ListenerId=listener, LocationId=second,
                  Targets=[{"EniIp": "10.0.0.1", "Port": 80, "Weight": 3}])
        self.done("RegisterTargets", ListenerId=listener, Domain="a.example.com", Url="/",
                  Targets=[{"InstanceId": "ins-near0001", "Port": 80}])
        targets = {rule.LocationId: rule for rule in self.targets(listener).Rules}
        self.assertEqual((targets[second].Url, targets[second].Targets[0].Weight), ("/v2", 3))
        self.assertEqual(targets[first].Targets[0].InstanceId, "ins-near0001")
        self.done("DeleteRule", ListenerId=listener, LocationIds=[first])
        self.done("DeleteRule", ListenerId=listener, Domain="b.example.com", Url="/v2")
        self.assertEqual(self.shown(listener).Rules, [])
        self.done("DeleteListener", ListenerId=listener)

    def test_sni(self):
        listener = self.listener(42001, "HTTPS", SniSwitch=1)
        rule = {"Domain": "a.example.com", "Url": "/", "ForwardType": "HTTPS", "Http2": True}
        self.refused("InvalidParameter", self.on, "CreateRule", ListenerId=listener, Rules=[rule])
        rule["Certificate"] = {"SSLMode": "UNIDIRECTIONAL", "CertId": "cert-a"}
        self.done("CreateRule", ListenerId=listener, Rules=[rule])
        self.done("ModifyDomainAttributes", ListenerId=listener, Domain="a.example.com",
                  Certificate={"SSLMode": "UNIDIRECTIONAL", "CertId": "cert-b"}, Http2=False)
        shown = self.shown(listener).Rules[0]
        self.assertEqual((shown.Certificate.CertId, shown.Http2, shown.ForwardType), ("cert-b", False, "HTTPS"))
        self.done("DeleteListener", ListenerId=listener)


class Targets(Case):
    def test_batches(self):
        made = self.done("CreateListener", Ports=[43000, 43001], Protocol="TCP").ListenerIds
        batch = [{"ListenerId": one, "EniIp": "10.0.0.1", "Port": 8000 + i, "Weight": 5} for i, one in enumerate(made)]
        self.assertEqual(self.done("BatchRegisterTargets", Targets=batch).FailListenerIdSet, [])
        self.assertEqual([(t.PrivateIpAddresses, t.Port, t.Weight) for t in self.targets(made[1]).Targets],
                         [(["10.0.0.1"], 8001, 5)])
        by_port = self.on("DescribeTargets", Protocol="TCP", Port=43001)
        self.assertEqual(by_port.Listeners[0].ListenerId, made[1])
        self.done("BatchModifyTargetWeight", ModifyList=[
            {"ListenerId": made[0], "Targets": [{"EniIp": "10.0.0.1", "Port": 8000, "Weight": 0}]}])
        self.assertEqual(self.targets(made[0]).Targets[0].Weight, 0)
        self.done("BatchDeregisterTargets", Targets=batch)
        self.assertEqual(self.targets(made[0]).Targets, [])
        unknown = self.on("BatchRegisterTargets",
                          Targets=[{"ListenerId": "lbl-nothere1", "EniIp": "10.0.0.1", "Port": 80}])
        self.assertEqual(unknown.FailListenerIdSet, ["lbl-nothere1"])
        self.wait(unknown)
        self.done("DeleteLoadBalancerListeners", ListenerIds=made)

    def test_one_by_one_and_health(self):
        listener = self.listener(43010)
        well, ill = [{"EniIp": "10.0.0.%d" % i, "Port": 80} for i in (1, 66)]
        self.done("RegisterTargets", ListenerId=listener, Targets=[well, ill])
        self.done("ModifyTargetWeight", ListenerId=listener, Targets=[well], Weight=77)
        deadline = time.monotonic() + 30
        health = None
        while time.monotonic() < deadline and health != {"10.0.0.1": "Alive", "10.0.0.66": "Dead"}:
            time.sleep(0.06)
            answer = self.call("DescribeTargetHealth", LoadBalancerIds=[self.lb], ListenerIds=[listener])
            rule = answer.LoadBalancers[0].Listeners[0].Rules[0]
            health = {one.IP: one.HealthStatusDetail for one in rule.Targets}
        self.assertEqual(health, {"10.0.0.1": "Alive", "10.0.0.66": "Dead"})
        self.done("DeregisterTargets", ListenerId=listener, Targets=[well])
        self.assertEqual([one.PrivateIpAddresses for one in self.targets(listener).Targets], [["10.0.0.66"]])
        self.done("DeleteListener", ListenerId=listener)

    def test_across_regions(self):
        listener = self.listener(43020)
        self.assertIn("Not support to register other ip ['10.2.0.1'] before enable SnatPro", self.refused(
            "InvalidParameterValue", self.on, "BatchRegisterTargets",
            Targets=[{"ListenerId": listener, "EniIp": "10.2.0.1", "Port": 80}]))
        self.done("DeleteListener", ListenerId=listener)


class Guide(Case):
    """The permissions of the users' guide suffice for what it describes, and for no more."""

    key = "AKIDGUIDE"
    lb = "lb-guide001"

    def test_what_it_lists_suffices(self):
        self.call("DescribeLoadBalancers", LoadBalancerIds=[self.lb])
        self.call("DescribeQuota")
        listener = self.listener(44000, "HTTP")
        location = self.done("CreateRule", ListenerId=listener, Rules=[
            {"Domain": "a.example.com", "Url": "/"}]).LocationIds[0]
        self.done("ModifyListener", ListenerId=listener, ListenerName="x")
        self.done("ModifyRule", ListenerId=listener, LocationId=location, Scheduler="WRR")
        target = {"EniIp": "10.0.0.1", "Port": 80}
        in_batch = dict(target, ListenerId=listener, LocationId=location)
        self.done("RegisterTargets", ListenerId=listener, LocationId=location, Targets=[target])
        self.done("ModifyTargetWeight", ListenerId=listener, LocationId=location, Targets=[target], Weight=1)
        self.done("BatchModifyTargetWeight", ModifyList=[
            {"ListenerId": listener, "LocationId": location, "Targets": [target], "Weight": 2}])
        self.done("DeregisterTargets", ListenerId=listener, LocationId=location, Targets=[target])
        self.done("BatchRegisterTargets", Targets=[in_batch])
        self.call("DescribeTargetHealth", LoadBalancerIds=[self.lb])
        self.done("BatchDeregisterTargets", Targets=[in_batch])
        self.done("DeleteRule", ListenerId=listener, LocationIds=[location])
        self.done("DeleteListener", ListenerId=listener)
        self.done("DeleteLoadBalancerListeners", ListenerIds=[self.listener(44001)])

    def test_what_it_does_not_list_is_refused_by_name(self):
        for action, members in (
                ("ModifyDomainAttributes", dict(LoadBalancerId=self.lb, ListenerId="x", Domain="y")),
                ("CreateLoadBalancer", dict(LoadBalancerType="OPEN")),
                ("DeleteLoadBalancer", dict(LoadBalancerIds=[self.lb]))):
            message = self.refused("UnauthorizedOperation", self.call, action, **members)
            self.assertIn("(clb:%s)" % action, message)
            self.assertIn("has no permission", message)


class OtherServices(Case):
    def other(self, service, version, action, **members):
        client = CommonClient(service, version, credentials(self.key), REGION, profile())
        return client.call_json(action, members)["Response"]

    def test_each(self):
        self.assertEqual(self.other("cam", "2019-01-16", "GetUserAppId")["OwnerUin"], "100000000001")
        addresses = self.other("vpc", "2017-03-12", "DescribeAddresses",
                               Filters=[{"Name": "instance-id", "Values": [self.lb]}])
        self.assertEqual(addresses["TotalCount"], 0)
        machines = self.other("cvm", "2017-03-12", "DescribeInstances", InstanceIds=["ins-near0001"])
        self.assertEqual(machines["InstanceSet"][0]["PrivateIpAddresses"], ["10.0.9.9"])
        tagged = self.other("tag", "2018-08-13", "TagResources", Tags=[{"TagKey": "k", "TagValue": "v"}],
                            ResourceList=["qcs::clb:ap-guangzhou:uin/1:clb/" + "lb-guide001"])
        self.assertEqual(tagged["FailedResources"], [])
        certificate = self.other("ssl", "2019-12-05", "DescribeCertificate", CertificateId="cert-a")
        self.assertEqual(certificate["CertificateId"], "cert-a")


class Trouble(Case):
    """Faults of setup.yaml, in its order; limits and locks."""

    def test_faults(self):
        self.lb = "lb-fault001"
        self.refused("InternalError", self.on, "CreateListener", Ports=[1], Protocol="TCP")
        self.refused("ServerNetworkError", self.on, "DescribeListeners")
        failed = self.on("CreateListener", Ports=[2], Protocol="TCP")
        self.assertEqual((self.wait(failed).Status, self.wait(failed).Message), (1, "no room"))
        made = self.done("CreateListener", Ports=[3, 4], Protocol="TCP").ListenerIds
        self.refused("ServerNetworkError", self.on, "ModifyListener", ListenerId=made[0], ListenerName="lost")
        self.assertEqual(self.shown(made[0]).ListenerName, "lost")
        there = self.on("DescribeListeners").Listeners
        self.assertEqual(sorted(one.Port for one in there), [3, 4])
        answer = self.done("BatchRegisterTargets", Targets=[
            {"ListenerId": one.ListenerId, "EniIp": "10.0.0.1", "Port": 80} for one in there])
        self.assertEqual((len(answer.FailListenerIdSet), answer.Message), (1, "told to"))

    def test_one_write_at_a_time(self):
        self.lb = "lb-busy0001"
        slow = self.on("CreateListener", Ports=[1], Protocol="TCP")
        self.assertEqual(self.call("DescribeTaskStatus", TaskId=slow.RequestId).Status, RUNNING)
        self.refused("FailedOperation.ResourceInOperating", self.on, "CreateListener", Ports=[2], Protocol="TCP")
        self.assertEqual(self.wait(slow).Status, 0)

    def test_rate(self):
        request = models.DescribeTargetsRequest()
        request.from_json_string(json.dumps({"LoadBalancerId": "lb-new00001"}))
        http = HttpProfile(endpoint=os.environ["ENDPOINT"], certification=os.environ["CA"], keepAlive=True)
        new = clb_client.ClbClient(credentials("AKIDNEW"), REGION, ClientProfile(httpProfile=http))

        def many():
            for _ in range(200):
                new.DescribeTargets(request)

        self.assertIn("frequency limit `20`", self.refused("RequestLimitExceeded", many))


if __name__ == "__main__":
    unittest.main()
